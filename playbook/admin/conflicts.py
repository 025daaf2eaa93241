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
from playbook.admin.panel_tables import DELTA, ENTRY, evidence_panel
from playbook.conflicts import conflict_list, conflict_sides
from playbook.conflicts.conflict_sides import Side
from playbook.entries.text_limits import MAX_PART
from playbook.models import (
    Conflict,
)
from playbook.review import reopen, resolve_conflict
from playbook.review.resolution_steps import SplitPart
from playbook.review.resolve_conflict import SeenVersions
from playbook.serializers.conflicts import evidence

STATES = {
    "open": "warning",
    "superseded": "success",
    "split": "success",
    "rejected": "danger",
}
NEWER, OLDER = "the newer", "the older"


def _supersede(conflict: Conflict, caller: Caller, text: str) -> Conflict:
    winner: resolve_conflict.Winner = "left" if text == OLDER else "right"
    return resolve_conflict.supersede(
        conflict, caller, winner=winner, versions=_seen_versions(conflict)
    )


def _split(conflict: Conflict, caller: Caller, text: str) -> Conflict:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) != 2:
        raise errors.Invalid(
            "Write two lines: the condition of the older rule, then that of the newer."
        )
    left, right = map(SplitPart, lines)
    return resolve_conflict.split(
        conflict, left, right, caller, versions=_seen_versions(conflict)
    )


def _reject(conflict: Conflict, caller: Caller, text: str) -> Conflict:
    return resolve_conflict.reject(
        conflict, caller, note=text, versions=_seen_versions(conflict)
    )


def _reopen(conflict: Conflict, caller: Caller, text: str) -> Conflict:
    decided_at = conflict.decided_at
    return reopen.reopen_conflict(conflict, caller, decided_at=decided_at)


def _seen_versions(conflict: Conflict) -> SeenVersions:
    sides = conflict_sides.sides_of(conflict)
    return SeenVersions(sides.left.version, sides.right.version)


def _is_open(conflict: Conflict) -> bool:
    return conflict.state == Conflict.ConflictStage.OPEN


def _is_decided(conflict: Conflict) -> bool:
    return bool(conflict.decided_by) and not _is_open(conflict)


@admin.register(Conflict)
class ConflictAdmin(RowsAdmin):
    list_display = [
        "reason_display",
        "left_display",
        "right_display",
        "state_display",
        "project_name",
        "created_display",
    ]
    list_filter = [
        ProjectFilter,
        choice_filter("state", Conflict.ConflictStage.choices),
        ("created_at", DaysFilter),
    ]
    search_fields = ["left__label", "right__label", "id"]
    search_help_text = "Label of an entry"
    fields = [
        "reason_display",
        "state_display",
        "project_name",
        "created_display",
        "decided_by",
        "decided_at",
        "note_display",
    ]
    row_actions = [
        AdminAction(
            "supersede",
            "Supersede",
            Role.CURATOR,
            _supersede,
            "decided",
            is_possible=lambda conflict, caller: _is_open(conflict),
            text_label="Rule to keep",
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
            is_possible=lambda conflict, caller: _is_open(conflict),
            text_label="Condition of the older rule; on a second line, that of the newer",
            initial_text=lambda conflict: conflict.left.condition,
            max_length=2 * MAX_PART + 1,
            needs_text=True,
        ),
        AdminAction(
            "reject",
            "Reject the newer",
            Role.CURATOR,
            _reject,
            "rejected",
            is_possible=lambda conflict, caller: _is_open(conflict),
            text_label="Why",
            is_final=True,
        ),
        AdminAction(
            "reopen",
            "Reopen",
            Role.CURATOR,
            _reopen,
            "waiting for a decision again",
            is_possible=lambda conflict, caller: _is_decided(conflict),
        ),
    ]

    reason_display = staticmethod(panels.column("reason", short_text, title="reason"))
    note_display = staticmethod(panels.column("note", short_text, title="note"))
    created_display = staticmethod(
        panels.column("created_at", format_time, title="found", ordering="id")
    )

    def get_queryset(self, request: HttpRequest) -> Any:
        return conflict_list.with_sides(super().get_queryset(request))

    def row_version(self, row: Any) -> str:
        """Return the versions of both sides and the time of the decision."""
        sides = _seen_versions(row)
        return f"{sides.left} {sides.right} {row.decided_at or ''}"

    @admin.display(description="the older")
    def left_display(self, conflict: Conflict) -> Any:
        return _side_link(conflict_sides.sides_of(conflict).left)

    @admin.display(description="the newer")
    def right_display(self, conflict: Conflict) -> Any:
        return _side_link(conflict_sides.sides_of(conflict).right)

    @label_column("state", STATES, "state")
    def state_display(self, conflict: Conflict) -> str:
        return conflict.state

    def panels(self, request: HttpRequest, row: Any) -> Iterable[Panel]:
        rows = Conflict.objects.visible_to(caller_of(request)).filter(pk=row.pk)
        conflict = conflict_list.with_details(rows, caller_of(request)).get()
        sides = conflict_sides.sides_of(conflict)
        support_counts = (conflict.left_supports, conflict.right_supports)  # type: ignore[attr-defined]  # `with_details`
        titles = ("The older", "The newer")
        pairs = zip(titles, (sides.left, sides.right), support_counts, strict=True)
        yield panels.table(
            "Sides",
            ["", "Rule", "When", "Status", "Helpful", "Harmful", "Neutral", "Supports"],
            [_line(title, side, supports) for title, side, supports in pairs],
        )
        for title, side in zip(titles, (sides.left, sides.right), strict=True):
            panel = evidence_panel(list(evidence(side)))
            yield Panel(f"{title}: evidence", panel.head, panel.rows, panel.empty)

    def history_panels(self, request: HttpRequest, row: Any) -> list[Panel]:
        return [audit_admin.history_panel(row.pk, caller_of(request))]


def _side_link(side: Side, limit: int = panels.LIST_LIMIT) -> SafeString:
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
        _side_link(side, PANEL_LIMIT),
        short_text(side.condition, PANEL_LIMIT),
        side.status,
        *votes,
    ]
