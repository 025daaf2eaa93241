from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from audit import admin as audit_admin
from common.admin import panels
from common.admin.actions import AdminAction
from common.admin.filters import (
    ChoiceFilter,
    DaysFilter,
    ProjectFilter,
    choice_filter,
    exact_filter,
)
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
from playbook.admin.panel_tables import (
    ENTRY,
    MEMORY,
    RUN,
    evidence_panel,
    gates_panel,
    history_panel,
)
from playbook.entries.text_limits import MAX_CONTENT
from playbook.models import (
    PlaybookChange,
    PlaybookDelta,
)
from playbook.review import (
    available,
    decide,
    delta_review,
    rebase,
    reopen,
    revert,
)
from playbook.review.available import DeltaAction, Permissions
from search.columns import search_columns_of

DECISIONS = {
    "pending": "warning",
    "applied": "success",
    "accepted": "success",
    "edited": "success",
    "rejected": "danger",
    "reverted": "info",
    "stale": "default",
}
# Maps the words that a curator chooses to reason codes.
REASONS = {code.replace("_", " "): code for code in delta_review.REASON_CODES}
RISKS = {
    "low": "success",
    "medium": "warning",
    "high": "danger",
    "quarantine": "danger",
}


class DecisionFilter(ChoiceFilter):
    title = "decided by"
    parameter_name = "decided_by"
    options = (("person", "a person"), ("service", "gates and policy"))

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        match self.value():
            case "person":
                return queryset.exclude(reviewer="")
            case "service":
                return queryset.filter(reviewer="").exclude(status="pending")
        return queryset.none() if self.value() else queryset


def _may(action: DeltaAction) -> Callable[[PlaybookDelta, Caller], bool]:
    """Ask the table of the review. The console releases; the admin links to it."""
    is_release = available.TABLE[action].releases

    def is_possible(delta: PlaybookDelta, caller: Caller) -> bool:
        if is_release and delta.is_quarantined:
            return False
        return action in Permissions(caller).actions(delta)

    return is_possible


def _edit(delta: PlaybookDelta, caller: Caller, text: str) -> PlaybookDelta:
    changes = {"content": text}
    return decide.edit_and_accept(delta, changes, caller, version=delta.version)


def _reject(delta: PlaybookDelta, caller: Caller, text: str) -> PlaybookDelta:
    reason = text or "other"
    code = REASONS.get(reason, "other")
    return decide.reject(
        delta, caller, reason=reason, reason_code=code, version=delta.version
    )


@admin.register(PlaybookDelta)
class PlaybookDeltaAdmin(RowsAdmin):
    list_display = [
        "operation_display",
        "text",
        "status_display",
        "risk_display",
        "producer",
        "project_name",
        "created_display",
    ]
    list_filter = [
        ProjectFilter,
        choice_filter("status", PlaybookDelta.DeltaStatus.choices),
        choice_filter("operation", PlaybookDelta.DeltaOperation.choices),
        choice_filter("risk", [(risk, risk) for risk in RISKS]),
        choice_filter("producer", PlaybookDelta.Producer.choices),
        DecisionFilter,
        exact_filter("category"),
        exact_filter("run_id", "run"),
        ("created_at", DaysFilter),
    ]
    list_select_related = ["entry"]
    search_fields = ["content__icontains", "entry__label", "run_id", "id"]
    search_help_text = "Words of the text, a label, or the id of a run"
    fieldsets = [
        (
            None,
            {"fields": ["operation", "status_display", "risk_display", "text_before"]},
        ),
        (
            "Proposed",
            {
                "fields": [
                    "content_display",
                    "category",
                    "payload_display",
                    "suggested_display",
                    "reason",
                ]
            },
        ),
        (
            "From",
            {
                "fields": [
                    "project_name",
                    "producer",
                    "producer_name",
                    "producer_version",
                    "proposed_by",
                    "agent_id",
                    "run_display",
                    "memory_display",
                    "created_display",
                ]
            },
        ),
        (
            "Decision",
            {
                "fields": [
                    "reviewer",
                    "review_note",
                    "reviewed_at",
                    "seen_again",
                    "version",
                ]
            },
        ),
    ]
    row_actions = [
        AdminAction(
            "accept",
            "Accept",
            Role.CURATOR,
            lambda delta, caller, text: decide.accept(
                delta, caller, version=delta.version
            ),
            "accepted",
            is_possible=_may("accept"),
            call_in_list=lambda delta, caller, text: decide.accept(
                delta, caller, version=delta.version, in_bulk=True
            ),
        ),
        AdminAction(
            "edit",
            "Edit and accept",
            Role.CURATOR,
            _edit,
            "edited and accepted",
            is_possible=_may("edit"),
            text_label="In your words",
            initial_text=lambda delta: delta.content,
            max_length=MAX_CONTENT,
            needs_text=True,
        ),
        AdminAction(
            "reject",
            "Reject",
            Role.CURATOR,
            _reject,
            "rejected",
            is_possible=_may("reject"),
            text_label="Reason",
            choices=tuple(REASONS),
            is_final=True,
        ),
        AdminAction(
            "rebase",
            "Rebase",
            Role.CURATOR,
            lambda delta, caller, text: rebase.rebase_delta(
                delta, caller, version=delta.version
            ),
            "waiting for the current version of its entry",
            is_possible=_may("rebase"),
        ),
        AdminAction(
            "undo",
            "Undo",
            Role.CURATOR,
            lambda delta, caller, text: revert.undo_delta(
                delta, caller, reason=text, version=delta.version
            ),
            "undone",
            is_possible=_may("undo"),
            text_label="Why",
        ),
        AdminAction(
            "redo",
            "Put in force again",
            Role.CURATOR,
            lambda delta, caller, text: revert.redo_delta(
                delta, caller, reason=text, version=delta.version
            ),
            "in force again",
            is_possible=_may("redo"),
            text_label="Why",
        ),
        AdminAction(
            "reopen",
            "Reopen",
            Role.CURATOR,
            lambda delta, caller, text: reopen.reopen_delta(
                delta, caller, version=delta.version
            ),
            "waiting for a decision again",
            is_possible=_may("reopen"),
        ),
    ]

    content_display = staticmethod(
        panels.column("content", panels.text_block, title="content")
    )
    payload_display = staticmethod(
        panels.column("payload", panels.json_block, title="further columns")
    )
    suggested_display = staticmethod(
        panels.column(
            "suggested", panels.json_block, title="before a person changed it"
        )
    )
    created_display = staticmethod(
        panels.column("created_at", format_time, title="proposed", ordering="id")
    )

    def get_queryset(self, request: HttpRequest) -> Any:
        search_columns = search_columns_of("entry")
        return (
            super().get_queryset(request).select_related("entry").defer(*search_columns)
        )

    @admin.display(description="operation", ordering="operation")
    def operation_display(self, delta: PlaybookDelta) -> Any:
        label = f" {delta.entry.label}" if delta.entry else ""
        return short_text(f"{delta.operation}{label}", 60)

    @admin.display(description="text")
    def text(self, delta: PlaybookDelta) -> SafeString:
        return short_text(delta.content or delta.reason, 140)

    @label_column("status", DECISIONS, "status")
    def status_display(self, delta: PlaybookDelta) -> str:
        return delta.status

    @label_column("risk", RISKS, "risk")
    def risk_display(self, delta: PlaybookDelta) -> str:
        return delta.risk

    @admin.display(description="current entry")
    def text_before(self, delta: PlaybookDelta) -> Any:
        if delta.entry is None:
            return ""
        return row_link(ENTRY, delta.entry_id, delta.entry, PANEL_LIMIT)

    @admin.display(description="run")
    def run_display(self, delta: PlaybookDelta) -> Any:
        return row_link(RUN, delta.run_id)

    @admin.display(description="memory")
    def memory_display(self, delta: PlaybookDelta) -> Any:
        return row_link(MEMORY, delta.memory_id)

    def links(self, request: HttpRequest, row: Any) -> list[dict[str, str]]:
        card = reverse("console:inbox_card", args=[row.pk])
        url = f"{card}?project={row.project_id}"
        return [
            {"url": url, "label": "Open in the inbox"},
            *super().links(request, row),
        ]

    def panels(self, request: HttpRequest, row: Any) -> Iterable[Panel]:
        yield self.evidence(request, row)
        yield gates_panel(row.gates)
        changes = PlaybookChange.objects.visible_to(caller_of(request))
        yield history_panel(changes.filter(delta_id=row.pk))

    def evidence(self, request: HttpRequest, row: Any) -> Panel:
        return evidence_panel(row.evidence)

    def history_panels(self, request: HttpRequest, row: Any) -> list[Panel]:
        return [audit_admin.history_panel(row.pk, caller_of(request))]
