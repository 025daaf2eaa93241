"""The admin of memories: list, search, page and actions."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

from django.contrib import admin, messages
from django.contrib.postgres.fields import ArrayField
from django.db.models import F, Func, UUIDField, Value
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from unfold.contrib.filters.admin import DropdownFilter
from unfold.widgets import UnfoldAdminTextareaWidget

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
from memories.admin import (
    change_table,
    compaction_pages,
    derivation_pages,
    exposures_panel,
    lineage_panel,
    list_search,
    purges,
)
from memories.admin.files import graph_link
from memories.admin.forms import MemoryForm
from memories.admin.status import STATUSES, status_of
from memories.duplicates import decide
from memories.lifecycle import delete, lookup, restore, supersede, verify
from memories.models import (
    Memory,
    MemoryChange,
    PossibleDuplicate,
)
from memories.read import search

TYPE_COLORS = {
    "error_fix": "success",
    "warning": "danger",
    "decision": "primary",
    "discovery": "info",
}


class MemoryStatusFilter(ChoiceFilter):
    title = "state"
    parameter_name = "state"
    options = tuple((name, name) for name in STATUSES)

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        now = timezone.now()
        match self.value():
            case "current":
                return queryset.current()
            case "duplicate":
                return queryset.filter(is_duplicate=True)
            case "superseded":
                return queryset.filter(superseded_by__isnull=False)
            case "expired":
                return queryset.filter(expires_at__lt=now, archived_at=None)
            case "archived":
                return queryset.filter(archived_at__isnull=False)
            case "deleted":
                return queryset.filter(deleted_at__isnull=False)
        return queryset


class ModeFilter(DropdownFilter):  # type: ignore[misc]  # unfold is untyped
    """The mode of the search box.

    Without a query, the mode has no effect.
    """

    title = "search mode"
    parameter_name = "mode"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return [("keyword", "keyword"), ("semantic", "semantic")]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        return queryset


def _supersede(memory: Memory, caller: Caller, typed: str) -> Memory:
    by = lookup.get_memory(_as_id(typed), caller, Role.WRITER)
    return supersede.supersede_memory(memory, by, caller)


def _as_id(typed: str) -> uuid.UUID:
    try:
        return uuid.UUID(typed)
    except ValueError:
        raise errors.Invalid(f"{typed!r} is not the id of a memory.") from None


@admin.register(Memory)
class MemoryAdmin(RowsAdmin):
    form = MemoryForm
    change_role = Role.CURATOR
    list_display = [
        "text",
        "type_display",
        "scope_display",
        "tags_display",
        "project_name",
        "status_display",
        "created_display",
    ]
    list_filter = [
        ProjectFilter,
        ModeFilter,
        choice_filter("memory_type", Memory.Type.choices, "type"),
        choice_filter("kind", Memory.Kind.choices),
        choice_filter("scope_kind", Memory.ScopeKind.choices, "scope"),
        exact_filter("scope_key", "key of the scope"),
        choice_filter("sensitivity", Memory.Sensitivity.choices),
        MemoryStatusFilter,
        TagFilter,
        exact_filter("agent_id", "agent"),
        ("created_at", DaysFilter),
    ]
    search_fields = ["content"]
    search_help_text = "Search as the API does"
    readonly_fields = [
        "content_display",
        "kind",
        "key",
        "value_display",
        "scope_display",
        "status_display",
        "goal_display",
        "result_display",
        "feedback_display",
        "steps_display",
        "tool_usage_display",
        "metadata_display",
        "provenance_display",
        "project_name",
        "source",
        "agent_id",
        "user_id",
        "created_in_session_id",
        "occurred_at",
        "verified_at",
        "created_display",
        "updated_at",
        "archived_at",
        "deleted_at",
        "deleted_by",
        "delete_reason",
        "id",
        "similarity_hash",
    ]
    row_actions = [
        AdminAction(
            "verify",
            "Still true",
            Role.CURATOR,
            lambda memory, caller, text: verify.verify_memory(
                memory, caller, note=text
            ),
            "confirmed",
            is_possible=lambda memory, caller: memory.deleted_at is None,
        ),
        AdminAction(
            "unmark",
            "Not a duplicate",
            Role.CURATOR,
            lambda memory, caller, text: decide.unmark(memory, caller, note=text),
            "a memory of its own again",
            is_possible=lambda memory, caller: memory.is_duplicate,
            text_label="Why",
        ),
        AdminAction(
            "supersede",
            "Superseded by…",
            Role.CURATOR,
            _supersede,
            "superseded",
            is_possible=lambda memory, caller: status_of(memory) == "current",
            text_label="Id of the newer memory",
            needs_text=True,
        ),
        AdminAction(
            "delete",
            "Delete",
            Role.CURATOR,
            lambda memory, caller, text: delete.delete_memory(
                memory.pk, caller, reason=text
            ),
            "deleted",
            is_possible=lambda memory, caller: memory.deleted_at is None,
            text_label="Why",
            is_final=True,
        ),
        AdminAction(
            "restore",
            "Restore",
            Role.CURATOR,
            lambda memory, caller, text: restore.restore_memory(memory.pk, caller),
            "restored",
            is_possible=lambda memory, caller: restore.is_restorable(memory),
        ),
        derivation_pages.UNDO,
    ]
    pages = [
        derivation_pages.PROMOTE,
        derivation_pages.COMPACT,
        compaction_pages.COMPACTION,
        compaction_pages.QUOTAS,
        purges.PURGE_MEMORIES,
    ]

    content_display = staticmethod(
        panels.column("content", panels.text_block, title="content")
    )
    goal_display = staticmethod(panels.column("goal", panels.text_block, title="goal"))
    result_display = staticmethod(
        panels.column("result", panels.text_block, title="result")
    )
    feedback_display = staticmethod(
        panels.column("feedback", panels.text_block, title="feedback")
    )
    value_display = staticmethod(
        panels.column("value", panels.json_block, title="value")
    )
    steps_display = staticmethod(
        panels.column("steps", panels.json_block, title="steps")
    )
    tool_usage_display = staticmethod(
        panels.column("tool_usage", panels.json_block, title="tools")
    )
    metadata_display = staticmethod(
        panels.column("metadata", panels.json_block, title="metadata")
    )
    provenance_display = staticmethod(
        panels.column("provenance", panels.json_block, title="provenance")
    )
    tags_display = staticmethod(panels.column("tags", panels.tag_list, title="tags"))
    created_display = staticmethod(
        panels.column("created_at", format_time, title="created", ordering="id")
    )

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).light()

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A deleted memory is read; it is restored before somebody edits it."""
        is_deleted = obj is not None and obj.deleted_at is not None
        return not is_deleted and super().has_change_permission(request, obj)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        edits = self.has_change_permission(request, obj)
        text = ["title", "content" if edits else "content_display"]
        typed = ["memory_type", "tags" if edits else "tags_display", "sensitivity"]
        life = ["confidence", "expires_at", *(["version"] if edits else [])]
        return [
            (None, {"fields": [*text, *typed, "status_display"]}),
            (
                "Place",
                {"fields": ["project_name", "scope_display", "kind", "key", *life]},
            ),
            (
                "Story",
                {
                    "fields": [
                        "goal_display",
                        "result_display",
                        "feedback_display",
                        "outcome",
                        "lessons",
                        "steps_display",
                        "tool_usage_display",
                    ],
                    "classes": ["tab"],
                },
            ),
            (
                "Origin",
                {
                    "fields": [
                        "source",
                        "agent_id",
                        "user_id",
                        "created_in_session_id",
                        "provenance_display",
                        "metadata_display",
                        "value_display",
                    ],
                    "classes": ["tab"],
                },
            ),
            (
                "Record",
                {
                    "fields": [
                        "id",
                        "created_display",
                        "updated_at",
                        "occurred_at",
                        "verified_at",
                        "archived_at",
                        "deleted_at",
                        "deleted_by",
                        "delete_reason",
                        "similarity_hash",
                    ],
                    "classes": ["tab"],
                },
            ),
        ]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return [*self.readonly_fields, "tags_display"]

    def formfield_for_dbfield(
        self, db_field: Any, request: HttpRequest, **kwargs: Any
    ) -> Any:
        if db_field.name in {"content", "outcome", "lessons"}:
            rows = 8 if db_field.name == "content" else 3
            kwargs["widget"] = UnfoldAdminTextareaWidget({"rows": rows})
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    # Search

    def get_list_display(self, request: HttpRequest) -> list[str]:
        """Add the column "match" to the results of a search."""
        columns = list(self.list_display)
        if not request.GET.get("q", "").strip():
            return columns
        return [columns[0], "match", "type_display", "tags_display", "project_name"]

    def get_search_results(
        self, request: HttpRequest, queryset: Any, search_term: str
    ) -> tuple[Any, bool]:
        """Search as the API does.

        The results have the order of the API's search. The filters of the list apply.
        """
        if not search_term.strip():
            return queryset, False
        try:
            hits = list_search.search_everywhere(
                search_term, queryset, request.GET, caller_of(request)
            )
        except errors.Refusal as refusal:
            messages.warning(request, refusal.detail)
            return queryset.none(), False
        request.hits = {hit.memory.pk: hit for hit in hits}  # type: ignore[attr-defined]  # read by RowList
        return in_order(queryset, [hit.memory.pk for hit in hits]), False

    @admin.display(description="match")
    def match(self, memory: Any) -> SafeString:
        hit: search.MemoryHit | None = memory.hit
        if hit is None:
            return SafeString("")
        # `search.snippets` has escaped the text.
        return format_html(
            '<span class="am-snippet" dir="auto">{}</span> <span class="am-score">{}</span>',
            mark_safe(hit.snippet),
            f"{hit.score:.3f}",
        )

    # Columns

    @admin.display(description="memory")
    def text(self, memory: Memory) -> SafeString:
        """Show the first lesson of a task that taught one, else the title or the text."""
        lesson = next(filter(str.strip, memory.lessons.splitlines()), "")
        return short_text(lesson.strip() or str(memory), 110)

    @label_column("type", TYPE_COLORS, "memory_type")
    def type_display(self, memory: Memory) -> tuple[str, str]:
        kind = "" if memory.kind == Memory.Kind.NOTE else f" · {memory.kind}"
        return memory.memory_type, f"{memory.get_memory_type_display()}{kind}"

    @admin.display(description="scope")
    def scope_display(self, memory: Memory) -> Any:
        if memory.scope_kind in {Memory.ScopeKind.WORKSPACE, Memory.ScopeKind.ORG}:
            return memory.get_scope_kind_display()
        return short_text(f"{memory.scope_kind}: {memory.scope_key}", 40)

    @label_column("state", STATUSES)
    def status_display(self, memory: Memory) -> str:
        return status_of(memory)

    # Page

    def panels(self, request: HttpRequest, row: Any) -> Iterable[Panel]:
        caller = caller_of(request)
        yield self._files(row)
        if row.compacted_from:
            yield derivation_pages.sources_panel(row, caller)
        yield lineage_panel.build_panel(row, caller)
        yield self._possible_duplicates(row, caller)
        yield exposures_panel.build_panel(row, caller)
        yield self._history(row, caller, most=10)

    def history_panels(self, request: HttpRequest, row: Any) -> Iterable[Panel]:
        caller = caller_of(request)
        yield self._history(row, caller, most=200)
        yield audit_admin.history_panel(row.pk, caller)

    @staticmethod
    def _files(memory: Memory) -> Panel:
        links = memory.file_links.select_related("file")[: panels.ROW_LIMIT + 1]
        return panels.table(
            "Files",
            ["File", "Relation", "Lines", "State"],
            (
                [
                    graph_link(found.file),
                    found.relation_type,
                    f"{found.line_start} to {found.line_end}"
                    if found.line_start
                    else "",
                    "changed since" if found.suspect_since else "",
                ]
                for found in links
            ),
            empty="It links to no file.",
        )

    @staticmethod
    def _possible_duplicates(memory: Memory, caller: Caller) -> Panel:
        pairs = PossibleDuplicate.objects.visible_to(caller).in_full()
        found = pairs.filter(memory=memory) | pairs.filter(other=memory)
        return panels.table(
            "Possible duplicates",
            ["Memory", "Similarity", "Why it was not merged", "State"],
            (
                [
                    row_link(
                        "memories_possibleduplicate",
                        pair.pk,
                        pair.other if pair.memory_id == memory.pk else pair.memory,
                    ),
                    f"{pair.similarity:.3f}",
                    short_text(pair.why_not_merged),
                    pair.get_state_display(),
                ]
                for pair in found[: panels.ROW_LIMIT + 1]
            ),
            empty="None.",
        )

    @staticmethod
    def _history(memory: Memory, caller: Caller, *, most: int) -> Panel:
        rows = MemoryChange.objects.visible_to(caller).filter(memory_id=memory.pk)
        return panels.table(
            "History",
            ["When", "What", "Who", "Change", "Why"],
            change_table.rows_of(rows[: most + 1]),
            most=most,
        )


def in_order(rows: Any, ids: list[uuid.UUID]) -> Any:
    """Return the rows with the given ids, in the order of the ids."""
    place = Func(
        Value(ids, output_field=ArrayField(UUIDField())),
        F("pk"),
        function="array_position",
    )
    return rows.filter(pk__in=ids).order_by(place)
