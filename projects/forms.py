"""What an owner types into the admin, sent through `projects.lifecycle`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from common.admin.action_forms import ActionForm
from common.caller import Role
from projects import lifecycle, members
from projects.models import Membership, Project


class ProjectForm(ActionForm):
    version = forms.IntegerField(widget=forms.HiddenInput, required=False)

    class Meta:
        model = Project
        fields = [
            "name",
            "description",
            "repository_url",
            "current_branch",
            "settings",
        ]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["version"] = self.instance.version
        # The form's checks change the instance, which the patch is compared with.
        self.stored = dict(self.instance.settings)

    def apply(self) -> Project:
        data = self.cleaned_data
        fields = {n: data[n] for n in lifecycle.FIELDS if n in self.changed_data}
        settings = data["settings"] or {}
        if self.instance._state.adding:
            return lifecycle.create(fields, self.caller, settings=settings)
        return lifecycle.update(
            self.instance,
            fields,
            self.caller,
            settings=merge_patch(self.stored, settings),
            version=data["version"],
        )


def merge_patch(old: Mapping[str, Any], new: Any) -> Any:
    """The merge patch (RFC 7396) that makes `new` of `old`: what left is null.

    What stays as it is is not in it: a language that is said again starts work.
    """
    if not isinstance(new, Mapping):
        return new
    gone = {name: None for name in old if name not in new}
    return gone | {
        name: merge_patch(before if isinstance(before, Mapping) else {}, value)
        for name, value in new.items()
        for before in [old.get(name)]
        if name not in old or value != before
    }


class MemberForm(ActionForm):
    """A person is named, not chosen: the list of accounts is not an owner's to see."""

    project = forms.ModelChoiceField(
        queryset=Project.objects.none(), widget=UnfoldAdminSelectWidget
    )
    username = forms.CharField(max_length=150, widget=UnfoldAdminTextInputWidget)
    role = forms.TypedChoiceField(
        choices=Role.choices, coerce=int, widget=UnfoldAdminSelectWidget
    )

    class Meta:
        model = Membership
        fields = ["role"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        rows = owned_projects(self.caller)
        self.fields["project"].queryset = rows  # type: ignore[attr-defined]  # a model choice
        if not self.instance._state.adding:
            del self.fields["project"], self.fields["username"]

    def apply(self) -> Membership:
        member, data = self.instance, self.cleaned_data
        if member._state.adding:
            project, username = data["project"], data["username"]
        else:
            project, username = member.project, member.account.get_username()
        return members.set_role(project, username, Role(data["role"]), self.caller)


def owned_projects(caller: Any) -> Any:
    rows = Project.objects.visible_to(caller)
    if caller.everywhere == Role.OWNER:
        return rows
    owned = [pk for pk, role in caller.roles.items() if role == Role.OWNER]
    return rows.filter(pk__in=owned)
