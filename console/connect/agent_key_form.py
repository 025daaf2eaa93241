"""Make a key for a coding agent."""

from __future__ import annotations

from typing import Any

from django import forms

from access import keys
from common.admin.action_forms import ApplyMixin
from common.caller import Caller, Role
from projects.models import Project


class AgentKeyForm(ApplyMixin, forms.Form):
    """A writer's key of one project, bound to an agent id; `result` is its secret."""

    agent_id = forms.CharField(
        label="Who the agent works for",
        max_length=255,
        widget=forms.TextInput({"placeholder": "ana@laptop", "autocomplete": "off"}),
    )

    def __init__(self, data: Any, *, project: Project, caller: Caller) -> None:
        super().__init__(data, auto_id="key-%s")
        self.project, self.caller = project, caller

    def apply(self) -> str:
        agent_id: str = self.cleaned_data["agent_id"]
        issued = keys.issue(
            name=f"Connect, {agent_id}"[:200],
            role=Role.WRITER,
            projects=[self.project],
            agent_id=agent_id,
            caller=self.caller,
        )
        return issued.secret
