"""Admin forms that edit a memory or a tag."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms

from common.admin.action_forms import ActionForm
from common.admin.names_field import NamesField
from common.caller import Role
from memories.lifecycle import lookup, update
from memories.models import (
    Memory,
    Tag,
)
from memories.store import tags
from projects.models import Project


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


class TagForm(ActionForm):
    class Meta:
        model = Tag
        fields = ["project", "name", "description", "category"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "project" in self.fields:
            rows = Project.objects.visible_to(self.caller)
            able = [row.pk for row in rows if self.caller.may(Role.WRITER, row.pk)]
            self.fields["project"].queryset = rows.filter(pk__in=able)  # type: ignore[attr-defined]  # a model choice

    def apply(self) -> Tag:
        data = dict(self.cleaned_data)
        if self.instance._state.adding:
            return tags.create(data.pop("project"), self.caller, **data)
        changes = {name: data[name] for name in self.changed_data}
        # Read the row again, because the form's instance already has the new name.
        tag = Tag.objects.visible_to(self.caller).get(pk=self.instance.pk)
        return tags.update(tag, self.caller, changes)
