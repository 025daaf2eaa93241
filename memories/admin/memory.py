"""Memories as a list and as plain rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminTextareaWidget

from audit import admin as audit_admin
from common.admin import panels
from common.admin.action_forms import ActionForm
from common.admin.filters import (
    ChoiceFilter,
    DaysFilter,
    ProjectFilter,
    TagFilter,
    choice_filter,
    exact_filter,
)
from common.admin.model_admin import AdminAction, RowsAdmin, caller_of
from common.admin.names_field import NamesField
from common.admin.panels import Panel, column, format_time, label_column, short_text
from common.caller import Role
from common.text import word_diff
from memories.lifecycle import delete, lookup, restore, update, verify
from memories.models import Memory, MemoryChange
from memories.store.drafts import TEXT_FIELDS

MAX_DIFF = 4_000  # the maximum number of characters in the difference of one text
STATUSES = {
    "current": "success",
    "duplicate": "info",
    "superseded": "warning",
    "expired": "warning",
    "archived": "default",
    "deleted": "danger",
}


class MemoryForm(ActionForm):
    """Edit a memory.

    The form refuses the edit if the memory was changed after the form was opened.
    """

    self_guarded: ClassVar[frozenset[str]] = frozenset(
        ["title", "content", "outcome", "lessons", "tags"]
    )
    version = forms.IntegerField(widget=forms.HiddenInput)
    tags = NamesField()

    class Meta:
        model = Memory
        fields = [
            "title",
            "content",
            "memory_type",
            "sensitivity",
            "confidence",
            "outcome",
            "lessons",
            "expires_at",
        ]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["tags"] = self.instance.tags
        self.initial["version"] = self.instance.version

    def apply(self) -> Memory:
        changes = {
            name: self.cleaned_data[name]
            for name in self.changed_data
            if name in update.MUTABLE
        }
        # Read the row again, because the form's instance already has the new values.
        memory = lookup.get_memory(self.instance.pk, self.caller, Role.CURATOR)
        return update.update_memory(
            memory, changes, self.caller, self.cleaned_data["version"]
        )


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


@admin.register(Memory)
class MemoryAdmin(RowsAdmin):
    form = MemoryForm
    change_role = Role.CURATOR
    list_display = [
        "text",
        "memory_type",
        "scope_display",
        "tags_display",
        "project_name",
        "status_display",
        "created_display",
    ]
    list_filter = [
        ProjectFilter,
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
    search_fields = ["id", "key"]
    search_help_text = "Id or key; for words, use Search"
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
    ]
    written = [
        "goal_display",
        "result_display",
        "feedback_display",
        "steps_display",
        "tool_usage_display",
    ]
    origin = [
        "source",
        "agent_id",
        "user_id",
        "created_in_session_id",
        "provenance_display",
        "metadata_display",
        "value_display",
        "promoted_from",
        "compacted_from",
        "duplicate_of_id",
        "superseded_by_id",
    ]
    record = [
        "id",
        "created_display",
        "updated_at",
        "occurred_at",
        "verified_at",
        "archived_at",
        "deleted_at",
        "deleted_by",
        "delete_reason",
    ]
    readonly_fields = [
        "content_display",
        "kind",
        "key",
        "scope_display",
        "tags_display",
        "status_display",
        "project_name",
        *(*written, *origin, *record),
    ]

    content_display = column("content", panels.text_block)
    goal_display = column("goal", panels.text_block)
    result_display = column("result", panels.text_block)
    feedback_display = column("feedback", panels.text_block)
    value_display = column("value", panels.json_block)
    steps_display = column("steps", panels.json_block)
    tool_usage_display = column("tool_usage", panels.json_block, title="tools")
    metadata_display = column("metadata", panels.json_block)
    provenance_display = column("provenance", panels.json_block)
    tags_display = column("tags", panels.tag_list)
    created_display = column("created_at", format_time, title="created", ordering="id")

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
        place = ["project_name", "scope_display", "kind", "key", *life]
        story = [*self.written, "outcome", "lessons"]
        return [
            (None, {"fields": [*text, *typed, "status_display"]}),
            ("Place", {"fields": place}),
            ("Story", {"fields": story, "classes": ["tab"]}),
            ("Origin", {"fields": self.origin, "classes": ["tab"]}),
            ("Record", {"fields": self.record, "classes": ["tab"]}),
        ]

    def formfield_for_dbfield(
        self, db_field: Any, request: HttpRequest, **kwargs: Any
    ) -> Any:
        if db_field.name in {"content", "outcome", "lessons"}:
            rows = 8 if db_field.name == "content" else 3
            kwargs["widget"] = UnfoldAdminTextareaWidget({"rows": rows})
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    @admin.display(description="memory")
    def text(self, memory: Memory) -> SafeString:
        """Show the first lesson of a task that taught one, else the title or the text."""
        lesson = next(filter(str.strip, memory.lessons.splitlines()), "")
        return short_text(lesson.strip() or str(memory), 110)

    @admin.display(description="scope")
    def scope_display(self, memory: Memory) -> Any:
        if memory.scope_kind in {Memory.ScopeKind.WORKSPACE, Memory.ScopeKind.ORG}:
            return memory.get_scope_kind_display()
        return short_text(f"{memory.scope_kind}: {memory.scope_key}", 40)

    @label_column("state", STATUSES)
    def status_display(self, memory: Memory) -> str:
        """Return the reason why reads leave a memory out, or `current`."""
        if memory.deleted_at:
            return "deleted"
        if memory.archived_at:
            return "archived"
        if memory.superseded_by_id:
            return "superseded"
        if memory.expires_at and memory.expires_at < timezone.now():
            return "expired"
        return "duplicate" if memory.is_duplicate else "current"

    def list_links(self, request: HttpRequest) -> list[dict[str, str]]:
        return [{"label": "Search", "url": reverse("console:search")}]

    def links(self, request: HttpRequest, row: Any) -> list[dict[str, str]]:
        if not row.is_duplicate:
            return []
        page = reverse("console:inbox_marked", args=[row.pk])
        return [{"label": "Its original", "url": f"{page}?project={row.project_id}"}]

    def history_panels(self, request: HttpRequest, row: Any) -> Iterable[Panel]:
        caller = caller_of(request)
        rows = MemoryChange.objects.visible_to(caller).filter(memory_id=row.pk)
        yield panels.table(
            "History",
            ["When", "What", "Who", "Change", "Why"],
            change_rows(rows[:201]),
            most=200,
        )
        yield audit_admin.history_panel(row.pk, caller)


def change_rows(changes: Iterable[MemoryChange]) -> Iterator[list[Any]]:
    for change in changes:
        yield [
            format_time(change.at),
            change.action,
            short_text(change.actor, panels.SHORT_LIMIT),
            _describe(change.before, change.after),
            short_text(change.reason, 200),
        ]


def _describe(before: Mapping[str, Any], after: Mapping[str, Any]) -> SafeString:
    """Compare the texts word by word, then list the other fields."""
    reworded = [name for name in TEXT_FIELDS if before.get(name) and after.get(name)]
    texts = format_html_join(
        "", "{}", ((_text_diff(n, before[n], after[n]),) for n in reworded)
    )
    old = {name: value for name, value in before.items() if name not in reworded}
    new = {name: value for name, value in after.items() if name not in reworded}
    return texts + panels.change_block(old, new)


def _text_diff(name: str, before: str, after: str) -> SafeString:
    parts = word_diff.excerpt(word_diff.diff_words(before, after), MAX_DIFF)
    label = short_text(f"{name}:", panels.SHORT_LIMIT)
    return format_html("{}{}", label, panels.diff_block(parts))
