from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString

from audit import admin as audit_admin
from common import errors
from common.admin import panels
from common.admin.actions import AdminAction
from common.admin.filters import DaysFilter, ProjectFilter, choice_filter
from common.admin.model_admin import RowsAdmin, caller_of
from common.admin.panels import (
    PANEL_LIMIT,
    Panel,
    format_time,
    label_column,
    row_link,
    short_text,
)
from common.caller import Caller, Role
from playbook import conflicts, reopening, resolving
from playbook.admin.shown import DELTA, ENTRY, evidence_of
from playbook.conflicts import Side
from playbook.models import (
    Conflict,
)
from playbook.resolving import Seen
from playbook.rulings import Part
from playbook.serializers.conflicts import evidence
from playbook.serializers.entries import PART

STATES = {
    "open": "warning",
    "superseded": "success",
    "split": "success",
    "rejected": "danger",
}
NEWER, OLDER = "the newer", "the older"


def _supersede(conflict: Conflict, caller: Caller, typed: str) -> Conflict:
    winner: resolving.Winner = "left" if typed == OLDER else "right"
    return resolving.supersede(conflict, caller, winner=winner, seen=_seen(conflict))


def _split(conflict: Conflict, caller: Caller, typed: str) -> Conflict:
    lines = [line.strip() for line in typed.splitlines() if line.strip()]
    if len(lines) != 2:
        raise errors.Invalid("Write two lines: when the older holds, when the newer.")
    left, right = map(Part, lines)
    return resolving.split(conflict, left, right, caller, seen=_seen(conflict))


def _reject(conflict: Conflict, caller: Caller, typed: str) -> Conflict:
    return resolving.reject(conflict, caller, note=typed, seen=_seen(conflict))


def _reopen(conflict: Conflict, caller: Caller, typed: str) -> Conflict:
    decided_at = conflict.decided_at
    return reopening.reopen_conflict(conflict, caller, decided_at=decided_at)


def _seen(conflict: Conflict) -> Seen:
    found = conflicts.sides(conflict)
    return Seen(found.left.version, found.right.version)


def _is_open(conflict: Conflict) -> bool:
    return conflict.state == Conflict.State.OPEN


def _is_decided(conflict: Conflict) -> bool:
    return bool(conflict.decided_by) and not _is_open(conflict)


@admin.register(Conflict)
class ConflictAdmin(RowsAdmin):
    list_display = [
        "reason_shown",
        "left_shown",
        "right_shown",
        "state_shown",
        "project_name",
        "created_shown",
    ]
    list_filter = [
        ProjectFilter,
        choice_filter("state", Conflict.State.choices),
        ("created_at", DaysFilter),
    ]
    search_fields = ["left__label", "right__label", "id"]
    search_help_text = "Label of an entry"
    fields = [
        "reason_shown",
        "state_shown",
        "project_name",
        "created_shown",
        "decided_by",
        "decided_at",
        "note_shown",
    ]
    deeds = [
        AdminAction(
            "supersede",
            "Supersede",
            Role.CURATOR,
            _supersede,
            "decided",
            fits=_is_open,
            asks="Which one stays",
            choices=(NEWER, OLDER),
            needs_text=True,
            is_final=True,
        ),
        AdminAction(
            "split",
            "Split by condition",
            Role.CURATOR,
            _split,
            "split",
            fits=_is_open,
            asks="When the older holds; on a second line, when the newer does",
            starts_with=lambda conflict: conflict.left.condition,
            longest=2 * PART + 1,
            needs_text=True,
        ),
        AdminAction(
            "reject",
            "Reject the newer",
            Role.CURATOR,
            _reject,
            "rejected",
            fits=_is_open,
            asks="Why",
            is_final=True,
        ),
        AdminAction(
            "reopen",
            "Take the decision back",
            Role.CURATOR,
            _reopen,
            "waiting for a decision again",
            fits=_is_decided,
        ),
    ]

    reason_shown = staticmethod(panels.column("reason", short_text, title="reason"))
    note_shown = staticmethod(panels.column("note", short_text, title="note"))
    created_shown = staticmethod(
        panels.column("created_at", format_time, title="found", ordering="id")
    )

    def get_queryset(self, request: HttpRequest) -> Any:
        return conflicts.light(super().get_queryset(request))

    def seen(self, row: Any) -> str:
        """The versions of its sides, and which decision it is."""
        sides = _seen(row)
        return f"{sides.left} {sides.right} {row.decided_at or ''}"

    @admin.display(description="the older")
    def left_shown(self, conflict: Conflict) -> Any:
        return _linked(conflicts.sides(conflict).left)

    @admin.display(description="the newer")
    def right_shown(self, conflict: Conflict) -> Any:
        return _linked(conflicts.sides(conflict).right)

    @label_column("state", STATES, "state")
    def state_shown(self, conflict: Conflict) -> str:
        return conflict.state

    def panels(self, request: HttpRequest, row: Any) -> Iterable[Panel]:
        rows = Conflict.objects.visible_to(caller_of(request)).filter(pk=row.pk)
        conflict = conflicts.in_full(rows, caller_of(request)).get()
        found = conflicts.sides(conflict)
        counted = (conflict.left_supports, conflict.right_supports)  # type: ignore[attr-defined]  # `in_full`
        titles = ("The older", "The newer")
        pairs = zip(titles, (found.left, found.right), counted, strict=True)
        yield panels.table(
            "Sides",
            ["", "Rule", "When", "Status", "Helpful", "Harmful", "Neutral", "Supports"],
            [_line(title, side, supports) for title, side, supports in pairs],
        )
        for title, side in zip(titles, (found.left, found.right), strict=True):
            shown = evidence_of(list(evidence(side)))
            yield Panel(f"{title}: evidence", shown.head, shown.rows, shown.empty)

    def past(self, request: HttpRequest, row: Any) -> list[Panel]:
        return [audit_admin.history_panel(row.pk, caller_of(request))]


def _linked(side: Side, limit: int = panels.LIST_LIMIT) -> SafeString:
    model = DELTA if side.delta else ENTRY
    row = side.delta or side.entry
    text = side.content if side.delta else side.entry
    return row_link(model, row.pk, text, limit) if row else SafeString("")


def _line(title: str, side: Side, supports: int) -> list[Any]:
    votes: list[Any] = ["", "", "", ""]
    if side.entry and not side.delta:
        entry = side.entry
        votes = [entry.helpful, entry.harmful, entry.neutral, supports]
    return [
        title,
        _linked(side, PANEL_LIMIT),
        short_text(side.condition, PANEL_LIMIT),
        side.status,
        *votes,
    ]
