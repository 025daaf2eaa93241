from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.safestring import SafeString

from audit import admin as audit_admin
from common import errors
from common.admin import panels
from common.admin.actions import AdminAction
from common.admin.filters import (
    ChoiceFilter,
    DaysFilter,
    ProjectFilter,
    TagFilter,
    choice_filter,
    exact_filter,
)
from common.admin.model_admin import RowsAdmin, caller_of
from common.admin.panels import Panel, format_time, label_column, row_link, short_text
from common.caller import Caller, Role
from memories.admin.memory import in_order
from playbook.admin import entry_panels, entry_search
from playbook.admin.forms import EntryForm
from playbook.admin.panel_tables import DELTA, ENTRY, MEMORY, delta_rows, history_panel
from playbook.entries import freshness
from playbook.models import (
    PlaybookChange,
    PlaybookDelta,
    PlaybookEntry,
)
from playbook.proposals import person_edits
from playbook.proposals.proposed_change import Operation, Producer, Proposal
from playbook.review import verification
from search.columns import search_columns_of

STATUSES = {
    "active": "success",
    "deprecated": "warning",
    "superseded": "info",
    "deleted": "danger",
}


class FreshnessFilter(ChoiceFilter):
    title = "freshness"
    parameter_name = "freshness"
    options = tuple((name, name) for name in freshness.FRESHNESS)

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        selected = next((n for n in freshness.FRESHNESS if n == self.value()), None)
        if selected is None:
            return queryset.none() if self.value() else queryset
        return freshness.filter_rows(queryset, selected, caller_of(request))


def _remove(entry: PlaybookEntry, caller: Caller, text: str) -> PlaybookDelta:
    proposal = person_edits.removal(entry, caller, reason=text, version=entry.version)
    return person_edits.submit_edit(entry.project, proposal, caller)


def _restore(entry: PlaybookEntry, caller: Caller, text: str) -> PlaybookDelta:
    proposal = Proposal(
        operation=Operation.RESTORE,
        entry=entry,
        expected_version=entry.version,
        reason=text,
        producer=Producer.HUMAN,
        producer_name=caller.name,
        feedback_source="human",
    )
    return person_edits.submit_edit(entry.project, proposal, caller)


@admin.register(PlaybookEntry)
class PlaybookEntryAdmin(RowsAdmin):
    form = EntryForm
    add_role = change_role = Role.CURATOR
    list_display = [
        "label",
        "text",
        "category",
        "status_display",
        "votes",
        "project_name",
        "verified_display",
    ]
    list_filter = [
        ProjectFilter,
        choice_filter("status", PlaybookEntry.EntryStatus.choices),
        exact_filter("category"),
        TagFilter,
        choice_filter("author_kind", PlaybookEntry.Author.choices, "author"),
        choice_filter("locked", [(1, "yes"), (0, "no")]),
        choice_filter("pinned", [(1, "yes"), (0, "no")]),
        FreshnessFilter,
        ("updated_at", DaysFilter),
    ]
    search_fields = ["content"]
    search_help_text = "Search by words and meaning, or a label"
    readonly_fields = [
        "label",
        "content_display",
        "condition_display",
        "action_display",
        "project_name",
        "tags_display",
        "applies_to_display",
        "aliases",
        "status_display",
        "votes",
        "confidence_display",
        "author_kind",
        "superseded_by",
        "id",
        "created_at",
        "created_by",
        "updated_at",
        "verified_display",
    ]
    add_fieldsets = [
        (None, {"fields": ["project", "content", "category", "condition", "action"]}),
        (
            "Place",
            {
                "fields": [
                    *("tags", "applies_to", "priority"),
                    *("pinned", "locked", "review_after"),
                ]
            },
        ),
        ("Record", {"fields": ["reason"]}),
    ]
    row_actions = [
        AdminAction(
            "verify",
            "Still true",
            Role.CURATOR,
            lambda entry, caller, text: verification.verify(entry, caller, note=text),
            "confirmed",
            is_possible=lambda entry, caller: entry.is_live,
            text_label="Note",
        ),
        AdminAction(
            "delete",
            "Delete",
            Role.CURATOR,
            _remove,
            "deleted",
            is_possible=lambda entry, caller: (
                entry.status != PlaybookEntry.EntryStatus.DELETED
            ),
            text_label="Why",
            is_final=True,
        ),
        AdminAction(
            "restore",
            "Restore",
            Role.CURATOR,
            _restore,
            "active again",
            is_possible=lambda entry, caller: (
                entry.status != PlaybookEntry.EntryStatus.ACTIVE
            ),
            text_label="Why",
        ),
    ]

    content_display = staticmethod(
        panels.column("content", panels.text_block, title="content")
    )
    condition_display = staticmethod(
        panels.column("condition", panels.text_block, title="condition")
    )
    action_display = staticmethod(
        panels.column("action", panels.text_block, title="action")
    )
    tags_display = staticmethod(panels.column("tags", panels.tag_list, title="tags"))
    applies_to_display = staticmethod(
        panels.column("applies_to", panels.tag_list, title="applies to")
    )
    verified_display = staticmethod(
        panels.column(
            "verified_at", format_time, title="confirmed", ordering="verified_at"
        )
    )

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).light()

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is None:
            return self.add_fieldsets
        edits = self.has_change_permission(request, obj)
        text_fields = ["content", "condition", "action", "tags", "applies_to"]
        texts = text_fields if edits else [f"{name}_display" for name in text_fields]
        edit_fields = ["reason", "version"] if edits else []
        return [
            (None, {"fields": ["label", *texts, "category", *edit_fields]}),
            (
                "Status",
                {
                    "fields": [
                        "status_display",
                        "votes",
                        "confidence_display",
                        "author_kind",
                    ]
                },
            ),
            (
                "Place",
                {
                    "fields": [
                        "project_name",
                        "priority",
                        "pinned",
                        "locked",
                        "review_after",
                    ]
                },
            ),
            (
                "Record",
                {
                    "fields": [
                        "id",
                        "aliases",
                        "superseded_by",
                        "created_at",
                        "created_by",
                        "updated_at",
                        "verified_display",
                    ],
                    "classes": ["tab"],
                },
            ),
        ]

    def response_add(
        self, request: HttpRequest, obj: Any, post_url_continue: str | None = None
    ) -> HttpResponse:
        return _redirect_to_result(request, obj)

    def response_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        return _redirect_to_result(request, obj)

    def get_search_results(
        self, request: HttpRequest, queryset: Any, search_term: str
    ) -> tuple[Any, bool]:
        if not search_term.strip():
            return queryset, False
        try:
            ids = entry_search.search_everywhere(
                search_term, queryset, request.GET, caller_of(request)
            )
        except errors.Refusal as refusal:
            messages.warning(request, refusal.detail)
            return queryset.none(), False
        return in_order(queryset, ids), False

    @admin.display(description="rule")
    def text(self, entry: PlaybookEntry) -> SafeString:
        return short_text(entry.content, 160)

    @label_column("status", STATUSES, "status")
    def status_display(self, entry: PlaybookEntry) -> str:
        return entry.status

    @admin.display(description="helpful / harmful / neutral", ordering="-helpful")
    def votes(self, entry: PlaybookEntry) -> str:
        return f"{entry.helpful} / {entry.harmful} / {entry.neutral}"

    @admin.display(description="confidence")
    def confidence_display(self, entry: PlaybookEntry) -> str:
        return f"{entry.confidence:.2f}"

    def panels(self, request: HttpRequest, row: Any) -> Iterable[Panel]:
        caller = caller_of(request)
        yield entry_panels.files_panel(row, caller)
        yield self._supports(row)
        yield entry_panels.exposures_panel(row, caller)
        yield entry_panels.blame_panel(row, caller)
        deltas = PlaybookDelta.objects.visible_to(caller).filter(entry=row)
        yield panels.table(
            "Proposed and decided",
            ["When", "What", "Text", "Producer", "Status"],
            delta_rows(deltas[: panels.ROW_LIMIT + 1]),
        )
        changes = PlaybookChange.objects.visible_to(caller).filter(entry_id=row.pk)
        yield history_panel(changes, most=10)

    def history_panels(self, request: HttpRequest, row: Any) -> Iterable[Panel]:
        caller = caller_of(request)
        changes = PlaybookChange.objects.visible_to(caller).filter(entry_id=row.pk)
        yield history_panel(changes, most=200)
        yield audit_admin.history_panel(row.pk, caller)

    @staticmethod
    def _supports(entry: PlaybookEntry) -> Panel:
        supports = entry.supports.select_related("memory").defer(
            *search_columns_of("memory")
        )
        return panels.table(
            "Supporting memories",
            ["Memory", "Type", "Since"],
            (
                [
                    row_link(MEMORY, support.memory_id, support.memory),
                    support.memory.get_memory_type_display(),
                    format_time(support.created_at),
                ]
                for support in supports[: panels.ROW_LIMIT + 1]
            ),
            empty="None.",
        )


def _redirect_to_result(request: HttpRequest, delta: PlaybookDelta) -> HttpResponse:
    """Redirect to the entry, to the delta if the change waits, or to its conflict."""
    if delta.status in PlaybookDelta.IN_FORCE:
        messages.success(request, "The playbook was changed.")
        return redirect(f"admin:{ENTRY}_change", delta.entry_id)
    messages.warning(request, f"The change is {delta.status}. {delta.review_note}")
    if conflict := delta.conflicts.filter(state="open").first():
        page = reverse("console:inbox_conflict", args=[conflict.pk])
        return redirect(f"{page}?project={delta.project_id}")
    return redirect(f"admin:{DELTA}_change", delta.pk)
