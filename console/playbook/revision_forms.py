"""The forms of a revision's page.

They choose the revision, choose what to revert, and set the place of an entry.
"""

from __future__ import annotations

import uuid
from typing import Any

from django import forms

from common import errors
from common.admin.action_forms import ApplyMixin
from common.caller import Caller, Role
from playbook.entries.text_limits import MAX_INTEGER, MIN_INTEGER
from playbook.lessons import person_edits
from playbook.models import PlaybookChange, PlaybookDelta
from playbook.reading import entry_list
from playbook.review import revert
from playbook.review.revert import RevertResult, RevertTarget
from projects.models import Project


class RevisionForm(forms.Form):
    """The revision to show, and the revision `to` which it is compared.

    An empty field means the present revision.
    """

    revision = forms.IntegerField(min_value=0, max_value=MAX_INTEGER, required=False)
    to = forms.IntegerField(min_value=0, max_value=MAX_INTEGER, required=False)

    def __init__(self, data: Any, *, present: int) -> None:
        super().__init__(data)
        self.present = present

    def clean(self) -> None:
        for name in ("revision", "to"):
            if (self.cleaned_data.get(name) or 0) > self.present:
                message = (
                    f"There is no such revision yet; the newest is {self.present}."
                )
                self.add_error(name, message)

    @property
    def revision_or_present(self) -> int:
        """Return the revision that the form names.

        Return the present revision if the form names no valid revision.
        """
        revision: int | None = self.cleaned_data.get("revision")
        return self.present if revision is None else revision


class RevertForm(ApplyMixin, forms.Form):
    """What to revert, and the reason, which is required.

    `revert_choices` lists what can be reverted.
    """

    what = forms.CharField(error_messages={"required": "Choose what to revert."})
    reason = forms.CharField(
        max_length=1000,
        error_messages={"required": "Say why; the history keeps it."},
    )

    def __init__(
        self, data: Any, *, project: Project, revision: int, caller: Caller
    ) -> None:
        super().__init__(data)
        self.project, self.revision, self.caller = project, revision, caller

    def apply(self) -> RevertResult:
        self.caller.require(Role.CURATOR, self.project.pk)
        target = self.target(*self.cleaned_data["what"].partition(":")[::2])
        return revert.revert_changes(
            self.project, target, self.caller, reason=self.cleaned_data["reason"]
        )

    def target(self, kind: str, name: str) -> RevertTarget:
        if kind == "after":
            return revert.range_target(self.project, self.revision, None, self.caller)
        if kind == "revision":
            first = self.revision - 1
            return revert.range_target(self.project, first, self.revision, self.caller)
        finds = {
            "change": revert.change_target,
            "delta": revert.delta_target,
            "run": revert.run_target,
        }
        try:
            return finds[kind](self.project, uuid.UUID(name), self.caller)
        except (KeyError, ValueError):
            raise errors.Invalid(errors={"what": ["Choose what to revert."]}) from None


def revert_choices(
    revision: int, present: int, changes: list[PlaybookChange]
) -> list[tuple[str, str]]:
    """Return (value, label) of everything that a revision's page can revert."""
    options = []
    if revision < present:
        options.append(("after", f"everything after revision {revision}"))
    if changes:
        options.append(("revision", f"all that revision {revision} did"))
    if len(changes) > 1:
        options += [
            (f"change:{one.pk}", f"the {one.action} of {one.entry_label}")
            for one in changes
        ]
    for delta in dict.fromkeys(one.delta_id for one in changes if one.delta_id):
        options.append((f"delta:{delta}", f"the delta {delta}"))
    for run in dict.fromkeys(one.run_id for one in changes if one.run_id):
        options.append((f"run:{run}", f"all that the run {run} did"))
    return options


class PlacementForm(ApplyMixin, forms.Form):
    """The priority of an entry, and whether the entry is pinned.

    The form submits an edit proposal.
    """

    priority = forms.IntegerField(min_value=MIN_INTEGER, max_value=MAX_INTEGER)
    pinned = forms.BooleanField(required=False)
    version = forms.IntegerField(min_value=1, max_value=MAX_INTEGER)

    def __init__(self, data: Any, *, entry_id: uuid.UUID, caller: Caller) -> None:
        super().__init__(data)
        self.entry_id, self.caller = entry_id, caller

    def apply(self) -> PlaybookDelta | None:
        """Submit the edit. Return None if the entry already has these values."""
        entry = entry_list.get(self.entry_id, self.caller, Role.CURATOR)
        values = {name: self.cleaned_data[name] for name in ("priority", "pinned")}
        changed = {n: to for n, to in values.items() if getattr(entry, n) != to}
        if not changed:
            return None
        version = self.cleaned_data["version"]
        change = person_edits.change(
            entry, changed, self.caller, reason="", version=version
        )
        return person_edits.submit_edit(entry.project, change, self.caller)
