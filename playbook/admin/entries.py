"""Entries as a list and as plain rows, which a curator edits."""

from __future__ import annotations

from typing import Any, ClassVar
from urllib.parse import urlencode

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.safestring import SafeString
from rest_framework import serializers
from unfold.widgets import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from audit.admin import AuditedAdmin
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
from common.admin.model_admin import AdminAction, caller_of
from common.admin.names_field import NamesField
from common.admin.panels import (
    column,
    format_time,
    label_column,
    short_text,
    text_block,
)
from common.caller import Caller, Role
from playbook.entries import freshness
from playbook.lessons import person_edits
from playbook.lessons.draft import Operation
from playbook.models import PlaybookDelta, PlaybookEntry
from playbook.reading import entry_list
from playbook.review import verification
from playbook.serializers.entries import AppliesToField
from projects.models import Project

STATUSES = {
    "active": "success",
    "deprecated": "warning",
    "superseded": "info",
    "deleted": "danger",
}


class EntryForm(ActionForm):
    """An entry in a person's words.

    `apply` returns the delta of the change.
    """

    self_guarded: ClassVar[frozenset[str]] = frozenset(
        ["content", "condition", "action", "tags", "applies_to", "reason"]
    )
    project = forms.ModelChoiceField(
        queryset=Project.objects.none(), widget=UnfoldAdminSelectWidget
    )
    version = forms.IntegerField(widget=forms.HiddenInput, required=False)
    tags = NamesField()
    applies_to = NamesField()
    reason = forms.CharField(
        required=False,
        max_length=1000,
        help_text="Kept in the history.",
        widget=UnfoldAdminTextInputWidget,
    )

    class Meta:
        model = PlaybookEntry
        fields = [
            "content",
            "category",
            "condition",
            "action",
            "priority",
            "pinned",
            "locked",
            "review_after",
        ]
        widgets = {
            "content": UnfoldAdminTextareaWidget({"rows": 4}),
            "condition": UnfoldAdminTextareaWidget({"rows": 2}),
            "action": UnfoldAdminTextareaWidget({"rows": 2}),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["tags"] = self.instance.tags
        self.initial["applies_to"] = self.instance.applies_to
        self.initial["version"] = self.instance.version
        if not self.instance._state.adding:
            del self.fields["project"]
            return
        rows = Project.objects.visible_to(self.caller)
        allowed = [row.pk for row in rows if self.caller.may(Role.CURATOR, row.pk)]
        self.fields["project"].queryset = rows.filter(pk__in=allowed)  # type: ignore[attr-defined]  # a model choice

    def clean_applies_to(self) -> list[str]:
        try:
            values: list[str] = AppliesToField().run_validation(
                self.cleaned_data["applies_to"]
            )
        except serializers.ValidationError as error:
            raise forms.ValidationError([str(each) for each in error.detail]) from error
        return values

    def apply(self) -> PlaybookDelta:
        data = self.cleaned_data
        changes = {
            name: data[name]
            for name in self.changed_data
            if name in person_edits.EDITABLE_COLUMNS
        }
        if self.instance._state.adding:
            project = data["project"]
            person_edits.refuse_unknown_category(project, changes)
            change = person_edits.addition(changes, self.caller, reason=data["reason"])
            return person_edits.submit_edit(project, change, self.caller)
        entry = entry_list.get(self.instance.pk, self.caller, Role.CURATOR)
        person_edits.refuse_unknown_category(entry.project, changes)
        change = person_edits.change(
            entry, changes, self.caller, reason=data["reason"], version=data["version"]
        )
        return person_edits.submit_edit(entry.project, change, self.caller)


def _remove(entry: PlaybookEntry, caller: Caller, text: str) -> PlaybookDelta:
    change = person_edits.removal(entry, caller, reason=text, version=entry.version)
    return person_edits.submit_edit(entry.project, change, caller)


def _restore(entry: PlaybookEntry, caller: Caller, text: str) -> PlaybookDelta:
    change = person_edits.person_change(
        Operation.RESTORE,
        {},
        caller,
        entry=entry,
        expected_version=entry.version,
        reason=text,
    )
    return person_edits.submit_edit(entry.project, change, caller)


class FreshnessFilter(ChoiceFilter):
    title = "freshness"
    parameter_name = "freshness"
    options = tuple((name, name) for name in freshness.FRESHNESS)

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        selected = next((n for n in freshness.FRESHNESS if n == self.value()), None)
        if selected is None:
            return queryset.none() if self.value() else queryset
        return freshness.filter_rows(queryset, selected, caller_of(request))


@admin.register(PlaybookEntry)
class PlaybookEntryAdmin(AuditedAdmin):
    list_title = "Entries"
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
    search_fields = ["label", "id", "content__icontains"]
    search_help_text = "A label, or a part of the text"
    texts = ["content", "condition", "action", "tags", "applies_to"]
    place = ["priority", "pinned", "locked", "review_after"]
    status_fields = ["status_display", "votes", "confidence", "author_kind"]
    record = [
        "id",
        "aliases",
        "superseded_by_id",
        "created_at",
        "created_by",
        "updated_at",
        "verified_display",
    ]
    readonly_fields = [
        "label",
        *(f"{name}_display" for name in texts),
        "project_name",
        *(*status_fields, *record),
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

    content_display = column("content", text_block)
    condition_display = column("condition", text_block)
    action_display = column("action", text_block)
    tags_display = column("tags", panels.tag_list)
    applies_to_display = column("applies_to", panels.tag_list)
    verified_display = column(
        "verified_at", format_time, title="confirmed", ordering="verified_at"
    )

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).light()

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        text, *others = self.texts
        if obj is None:
            words = ["project", text, "category", *others]
            return [(None, {"fields": [*words, *self.place, "reason"]})]
        edits = self.has_change_permission(request, obj)
        texts = self.texts if edits else [f"{name}_display" for name in self.texts]
        edit_fields = ["reason", "version"] if edits else []
        return [
            (None, {"fields": ["label", *texts, "category", *edit_fields]}),
            ("Status", {"fields": self.status_fields}),
            ("Place", {"fields": ["project_name", *self.place]}),
            ("Record", {"fields": self.record, "classes": ["tab"]}),
        ]

    def response_add(
        self, request: HttpRequest, obj: Any, post_url_continue: str | None = None
    ) -> HttpResponse:
        return _redirect_to_result(request, obj)

    def response_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        return _redirect_to_result(request, obj)

    @admin.display(description="rule")
    def text(self, entry: PlaybookEntry) -> SafeString:
        return short_text(entry.content, 160)

    @label_column("status", STATUSES, "status")
    def status_display(self, entry: PlaybookEntry) -> str:
        return entry.status

    @admin.display(description="helpful / harmful / neutral", ordering="-helpful")
    def votes(self, entry: PlaybookEntry) -> str:
        return f"{entry.helpful} / {entry.harmful} / {entry.neutral}"

    def links(self, request: HttpRequest, row: Any) -> list[dict[str, str]]:
        query = {"project": row.project_id, "entry_label": row.label}
        url = reverse("admin:playbook_playbookchange_changelist")
        return [{"label": "Its changes", "url": f"{url}?{urlencode(query)}"}]


def _redirect_to_result(request: HttpRequest, delta: PlaybookDelta) -> HttpResponse:
    """Redirect to the entry, or to the card of the change if the change waits."""
    if delta.status in PlaybookDelta.IN_FORCE:
        messages.success(request, "The playbook was changed.")
        return redirect("admin:playbook_playbookentry_change", delta.entry_id)
    messages.warning(request, f"The change is {delta.status}. {delta.review_note}")
    card = reverse("console:inbox_card", args=[delta.pk])
    return redirect(f"{card}?project={delta.project_id}")
