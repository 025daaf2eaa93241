"""The forms of the pages of the agent."""

from __future__ import annotations

from types import NoneType
from typing import Any, get_args

from django import forms

from agents.models import AgentRun
from agents.runs import run_job
from agents.runs.confirm import confirm
from common.admin.action_forms import ApplyMixin
from common.caller import Caller
from conversations.sessions.lookup import read_user_id
from projects import lifecycle
from projects.models import Project
from projects.options import AgentSettings

# The widest texts of the settings get a box of lines.
LONG_TEXTS = {"additional_context"}
NO_FIELDS = {"templates"}  # texts of prompts: they are set over the API


class RunListForm(forms.Form):
    """Which runs to list; every field may be empty."""

    user = forms.CharField(
        label="User",
        required=False,
        max_length=255,
        widget=forms.TextInput({"placeholder": "0 is anonymous"}),
    )
    conversation = forms.CharField(label="Conversation", required=False, max_length=200)
    status = forms.ChoiceField(
        label="Status",
        required=False,
        choices=[("", "any"), *AgentRun.RunStatus.choices],
    )

    @property
    def columns(self) -> dict[str, str]:
        """Return the columns of the rows to list."""
        data = self.cleaned_data
        user = data["user"]
        columns = {
            "user_id": read_user_id(user) if user else None,
            "conversation_id": data["conversation"] or None,
            "status": data["status"] or None,
        }
        return {name: value for name, value in columns.items() if value is not None}


class RunActionForm(ApplyMixin, forms.Form):
    """Allow or forbid a call that waits, or cancel the run."""

    action = forms.ChoiceField(choices=[(n, n) for n in ("allow", "forbid", "cancel")])

    def __init__(self, data: Any, *, run: AgentRun, caller: Caller) -> None:
        super().__init__(data)
        self.run, self.caller = run, caller

    def apply(self) -> str:
        """Do it, and return a sentence about it."""
        action: str = self.cleaned_data["action"]
        if action == "cancel":
            run_job.cancel_run(self.run, self.caller)
            return "The run is cancelled."
        answer = confirm(
            self.run,
            self.caller,
            is_allowed=action == "allow",
            status=AgentRun.RunStatus.QUEUED,
        )
        run_job.run_later(
            answer.run,
            allowed_call=answer.allowed_call,
            forbidden_call=answer.forbidden_call,
        )
        return "A job goes on with the run. Reload the page to see its steps."


class AgentSettingsForm(ApplyMixin, forms.Form):
    """The settings of the agent, made from their model: names, bounds and defaults."""

    def __init__(self, data: Any, *, project: Project, caller: Caller) -> None:
        self.project, self.caller = project, caller
        super().__init__(
            data, initial=project.options.agents.model_dump(), auto_id="ag-%s"
        )
        for name, field in AgentSettings.model_fields.items():
            if name not in NO_FIELDS:
                form_field = _form_field(name, field.annotation, field.metadata)
                form_field.help_text = field.description or ""
                self.fields[name] = form_field

    def apply(self) -> str:
        """Store the settings, and return a sentence about it."""
        lifecycle.update(
            self.project, {}, self.caller, settings={"agents": self.cleaned_data}
        )
        return "The settings of the agent are stored."


def _form_field(name: str, kind: Any, metadata: list[Any]) -> forms.Field:
    """Return the form's field for a setting of a type with these bounds."""
    label = name.replace("_", " ").capitalize()
    kinds = [each for each in get_args(kind) if each is not NoneType]
    is_required = NoneType not in get_args(kind)
    if not is_required:
        kind, more = _unwrap(kinds[0])
        metadata = [*metadata, *more]
    if kind is bool:
        return forms.BooleanField(label=label, required=False)
    if kind is int:
        bounds = {
            key: getattr(m, key)
            for m in metadata
            for key in ("ge", "le")
            if hasattr(m, key)
        }
        return forms.IntegerField(
            label=label,
            required=is_required,
            min_value=bounds.get("ge"),
            max_value=bounds.get("le"),
        )
    if kind is str:
        most = next((m.max_length for m in metadata if hasattr(m, "max_length")), None)
        widget = forms.Textarea({"rows": 4}) if name in LONG_TEXTS else None
        return forms.CharField(
            label=label, required=False, max_length=most, widget=widget
        )
    return forms.ChoiceField(label=label, choices=[(each, each) for each in kinds])


def _unwrap(kind: Any) -> tuple[Any, list[Any]]:
    """Return the type of an Annotated one, and its bounds."""
    plain, *more = get_args(kind) or (kind,)
    return plain, [m for each in more for m in getattr(each, "metadata", [each])]
