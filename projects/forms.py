"""Forms of the admin for projects and members; they call `lifecycle` and `members`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from common.admin.action_forms import ActionForm
from common.caller import Role
from projects import lifecycle, members
from projects.models import Membership, Project


class ProjectForm(ActionForm):
    self_guarded: ClassVar[frozenset[str]] = frozenset(["settings"])
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
        # Validation changes the instance; the patch needs the stored settings.
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
    """Return the merge patch (RFC 7396) from `old` to `new`; a missing name becomes null.

    The patch leaves out equal values, because a search language in the patch starts a job.
    """
    if not isinstance(new, Mapping):
        return new
    removals = {name: None for name in old if name not in new}
    return removals | {
        name: merge_patch(before if isinstance(before, Mapping) else {}, value)
        for name, value in new.items()
        for before in [old.get(name)]
        if name not in old or value != before
    }


class MemberForm(ActionForm):
    """The form of a member; the person is a text field, as owners may not list the accounts."""

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
