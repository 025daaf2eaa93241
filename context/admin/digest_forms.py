"""Forms for digest settings and for the preview of a digest."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from unfold.widgets import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from common import errors
from common.admin.action_forms import ActionForm
from common.admin.pages import ProjectPageForm
from common.caller import Role
from context.digest import assemble, digest_configs
from context.digest.assemble import Digest
from context.models import DigestConfig
from memories import scopes
from memories.scopes import Scope
from projects import project_lookup
from projects.models import Project


class IndentedJSONEncoder(json.JSONEncoder):
    """Encode settings as JSON with one value on each line."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs | {"indent": 2})


class DigestConfigForm(ActionForm):
    """Edit the settings of a project or an agent; `digest_configs.put` saves them."""

    project = forms.ModelChoiceField(
        queryset=Project.objects.none(), widget=UnfoldAdminSelectWidget
    )
    version = forms.IntegerField(widget=forms.HiddenInput, required=False)
    config = forms.JSONField(
        label="Settings",
        required=False,
        initial=dict,
        encoder=IndentedJSONEncoder,
        help_text="The settings that differ from the effective ones below, as JSON: "
        '{"semantic": {"enabled": true}}. docs/digest.md lists all settings.',
        widget=UnfoldAdminTextareaWidget({"rows": 12}),
    )

    class Meta:
        model = DigestConfig
        fields = ["project", "agent_id", "config"]
        help_texts = {"agent_id": "Empty: for every agent of the project."}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.instance._state.adding:
            self.fields.pop("project")
            self.initial["version"] = self.instance.version
            return
        rows = Project.objects.visible_to(self.caller)
        able = [row.pk for row in rows if self.caller.may(Role.CURATOR, row.pk)]
        self.fields["project"].queryset = rows.filter(pk__in=able)  # type: ignore[attr-defined]  # a model choice

    def clean_config(self) -> dict[str, Any]:
        config = self.cleaned_data["config"] or {}
        if not isinstance(config, dict):
            raise forms.ValidationError("It must be a JSON object, {…}.")
        return config

    def apply(self) -> DigestConfig:
        data, row = self.cleaned_data, self.instance
        if not row._state.adding:
            return self._put(row.project, row.agent_id, data["version"])
        return self._put(data["project"], data["agent_id"], 0)

    def _put(
        self, project: Project, agent_id: str, version: int | None
    ) -> DigestConfig:
        config = self.cleaned_data["config"]
        try:
            return digest_configs.put(
                project, agent_id, config, self.caller, version=version
            )
        except errors.Invalid as refusal:
            messages = [f"{name}: {' '.join(e)}" for name, e in refusal.errors.items()]
            raise errors.Invalid(errors={"config": messages}) from refusal


class DigestPreviewForm(ProjectPageForm):
    """Preview the digest that `assemble.for_agent` returns for a turn of an agent."""

    agent_id = forms.CharField(
        label="Agent",
        max_length=255,
        required=False,
        help_text="Its settings apply; its memories and those without an agent are used.",
        widget=UnfoldAdminTextInputWidget,
    )
    query = forms.CharField(
        max_length=10_000,
        required=False,
        help_text="The subject of the turn; empty: only the structured sources.",
        widget=UnfoldAdminTextareaWidget({"rows": 2}),
    )
    user_id = forms.CharField(
        label="User",
        max_length=255,
        required=False,
        help_text="Adds the memories of this user.",
        widget=UnfoldAdminTextInputWidget,
    )
    session_id = forms.CharField(
        label="Session",
        max_length=255,
        required=False,
        help_text="Adds the memories of this session, of the user above if there is one.",
        widget=UnfoldAdminTextInputWidget,
    )
    object_type = forms.CharField(
        label="Type of an object",
        max_length=255,
        required=False,
        widget=UnfoldAdminTextInputWidget,
    )
    object_id = forms.CharField(
        label="Object",
        max_length=255,
        required=False,
        help_text="Adds the memories about this object; fill in both fields.",
        widget=UnfoldAdminTextInputWidget,
    )

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        for one, other in (("object_type", "object_id"), ("object_id", "object_type")):
            if data.get(other) and not data.get(one):
                self.add_error(one, "An object has a type and an id; name both.")
        return data

    def apply(self) -> Digest:
        data = self.cleaned_data
        project = project_lookup.find_project(data["project"], self.caller)
        return assemble.for_agent(
            project,
            self.caller,
            agent_id=data["agent_id"],
            query=data["query"],
            scopes=self._scopes(project),
        )

    def _scopes(self, project: Project) -> list[Scope]:
        typed = {name: value for name, value in self.cleaned_data.items() if value}
        keys = {
            "user": ["user_id"],
            "session": ["session_id", "user_id"],
            "object": ["object_id", "object_type"],
        }
        named = [
            {"kind": kind} | {name: typed[name] for name in names if name in typed}
            for kind, names in keys.items()
            if names[0] in typed
        ]
        return [scopes.resolve(one, project, self.caller) for one in named]
