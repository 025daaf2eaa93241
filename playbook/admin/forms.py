"""The form by which a curator adds or edits an entry."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from rest_framework import serializers
from unfold.widgets import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from common.admin.action_forms import ActionForm
from common.admin.names_field import NamesField
from common.caller import Caller, Role
from playbook.conflicts.contradiction import Contradiction
from playbook.models import PlaybookDelta, PlaybookEntry
from playbook.proposals import person_edits
from playbook.proposals.proposed_change import Proposal
from playbook.reading import entry_list
from playbook.serializers.entries import AppliesToField
from projects.models import Project


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
            proposal = person_edits.addition(
                changes, self.caller, reason=data["reason"]
            )
            return _submit(project, proposal, self.caller)
        entry = entry_list.get(self.instance.pk, self.caller, Role.CURATOR)
        person_edits.refuse_unknown_category(entry.project, changes)
        proposal = person_edits.change(
            entry, changes, self.caller, reason=data["reason"], version=data["version"]
        )
        return _submit(entry.project, proposal, self.caller)


def _submit(project: Project, proposal: Proposal, caller: Caller) -> PlaybookDelta:
    """Submit the change; one that contradicts an entry waits in a conflict."""
    try:
        return person_edits.submit_edit(project, proposal, caller)
    except Contradiction as refusal:
        assert refusal.delta
        return refusal.delta
