"""The form that changes the profile, the soul or the constraints of an agent memory."""

from __future__ import annotations

from typing import Any

from django import forms

from common import errors
from common.admin.action_forms import ApplyMixin
from common.caller import Caller
from conversations.agent_memory import constraints, texts
from conversations.agent_memory.pair import MemoryPair

SOURCE = "user"  # a person in the browser speaks as the user
ACTIONS = ("profile", "soul", "add", "remove", "roll_back")


class AgentMemoryForm(ApplyMixin, forms.Form):
    """One change of an agent memory; `result` is a sentence about it.

    `seen` is the version that the page showed. A text that has changed since is not
    replaced.
    """

    action = forms.ChoiceField(choices=[(name, name) for name in ACTIONS])
    text = forms.CharField(required=False, strip=False, max_length=texts.MAX_CHARACTERS)
    seen = forms.IntegerField(min_value=0, required=False)
    constraint = forms.CharField(required=False, max_length=100)
    scope = forms.ChoiceField(
        required=False, choices=[(name, name) for name in texts.SCOPES]
    )
    version = forms.IntegerField(min_value=1, required=False)

    def __init__(self, data: Any, *, pair: MemoryPair, caller: Caller) -> None:
        super().__init__(data)
        self.pair, self.caller = pair, caller

    def apply(self) -> str:
        """Write the change, and return a sentence about it."""
        action: str = self.cleaned_data["action"]
        if action in texts.SCOPES:
            return self._set(action)
        done: str = getattr(self, f"_{action}")()
        return done

    def _set(self, scope: str) -> str:
        data = self.cleaned_data
        texts.set_text(
            self.pair,
            scope,
            data["text"],
            self.caller,
            source=SOURCE,
            expected_version=data["seen"],
        )
        return f"The {scope} is saved; the old one stays in the history."

    def _add(self) -> str:
        text = self.cleaned_data["text"].strip()
        if not text:
            raise errors.Invalid(errors={"text": ["Write the constraint."]})
        constraints.add_constraint(self.pair, text, self.caller)
        return "The constraint is added."

    def _remove(self) -> str:
        constraints.remove_constraint(
            self.pair, self.cleaned_data["constraint"], self.caller
        )
        return "The constraint is removed; it stays in the history."

    def _roll_back(self) -> str:
        data = self.cleaned_data
        scope, version = data["scope"] or texts.SCOPES[0], data["version"] or 0
        texts.roll_back(self.pair, scope, version, self.caller)
        return f"The {scope} is that of version {version} again."
