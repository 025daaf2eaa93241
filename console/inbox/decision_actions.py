"""The decisions about one proposal.

Each action validates the form, calls the function that decides, and returns a message.
The serializers are those of the API, so that the page and the API refuse the same
input.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rest_framework import serializers

from common import errors
from common.caller import Caller, Role
from common.text import comma_list, plain_text
from console.inbox import proposal_cards
from console.inbox.form_input import FormInput, validate, validate_filled
from playbook.models import PlaybookDelta, PlaybookEntry
from playbook.reading import entry_list
from playbook.review import (
    decide,
    delta_review,
    merge_into_entry,
    rebase,
    reopen,
    revert,
)
from playbook.review.merge_into_entry import NoMergedText
from playbook.serializers import deltas as forms
from playbook.serializers.entries import EntryText, WithRelease, WithVersion

# A dict of each reason code and the words that a curator reads.
REASONS = {code: code.replace("_", " ") for code in delta_review.REASON_CODES}
# A message, and the proposal as it was at the end of the decision's own transaction.
DecisionResult = tuple[str, PlaybookDelta]


@dataclass(frozen=True)
class DecisionAction:
    """A decision that a person can make.

    `run` makes the decision. If `is_last` is true, the decision cannot be undone.
    """

    run: Callable[[PlaybookDelta, Caller, FormInput], DecisionResult]
    is_last: bool = False


def _accept(delta: PlaybookDelta, caller: Caller, fields: FormInput) -> DecisionResult:
    data = _validated_data(forms.AcceptDelta, fields, "note", "release_reason")
    decided = decide.accept(
        delta,
        caller,
        version=data.get("expected_version"),
        note=data["note"],
        release_reason=data["release_reason"],
    )
    verb = "Released" if decided.is_quarantined else "Accepted"
    return f"{verb}: {_describe_proposal(decided)}.", decided


def _edit(delta: PlaybookDelta, caller: Caller, fields: FormInput) -> DecisionResult:
    changed: dict[str, Any] = _changed_fields(delta, fields)
    if "applies_to" in changed:
        changed["applies_to"] = comma_list.split(changed["applies_to"])
    changes = validate(EntryText, changed)
    decided = decide.edit_and_accept(
        delta,
        changes,
        caller,
        version=_version(fields),
        release_reason=_release_reason(fields),
    )
    return f"Accepted in your words: {_describe_proposal(decided)}.", decided


def _merge(delta: PlaybookDelta, caller: Caller, fields: FormInput) -> DecisionResult:
    entry = _entry_by_label(delta, fields.get("label", "").strip(), caller)
    values = {**fields, "entry_id": str(entry.pk), "content": fields.get("merged", "")}
    data = _validated_data(
        forms.MergeDelta, values, "entry_id", "entry_version", "content"
    )
    try:
        text = merge_into_entry.make_text(delta, entry, data.get("content", ""))
    except NoMergedText as refusal:
        # The page puts both texts into the field in which the person merges them.
        refusal.extra["merged"] = f"{entry.content} {delta.content}"
        raise
    decided = merge_into_entry.merge(
        delta,
        entry,
        caller,
        embedded_text=text,
        version=data.get("expected_version"),
        entry_version=data.get("entry_version"),
        release_reason=_release_reason(fields),
    )
    return f"Merged into {entry.label}.", decided


def _reject(delta: PlaybookDelta, caller: Caller, fields: FormInput) -> DecisionResult:
    code = fields.get("reason_code", "")
    values = {**fields, "reason": fields.get("reason") or REASONS.get(code, "")}
    data = _validated_data(forms.RejectDelta, values, "reason", "reason_code")
    decided = decide.reject(
        delta,
        caller,
        reason=data["reason"],
        reason_code=data.get("reason_code", ""),
        version=data.get("expected_version"),
    )
    return f"Rejected: {data['reason']}.", decided


def _rebase(delta: PlaybookDelta, caller: Caller, fields: FormInput) -> DecisionResult:
    decided = rebase.rebase_delta(delta, caller, version=_version(fields)).delta
    label = decided.entry.label if decided.entry else "a decision"
    return f"Renewed: it waits for {label} as it is now.", decided


def _undo(delta: PlaybookDelta, caller: Caller, fields: FormInput) -> DecisionResult:
    data = _validated_data(forms.UndoDelta, fields, "reason", "release_reason")
    decided = revert.undo_delta(
        delta,
        caller,
        reason=data["reason"],
        release_reason=data["release_reason"],
        version=data.get("expected_version"),
    )
    return f"Undone: {_describe_proposal(decided)} is as it was before.", decided


def _redo(delta: PlaybookDelta, caller: Caller, fields: FormInput) -> DecisionResult:
    decided = revert.redo_delta(
        delta,
        caller,
        release_reason=_release_reason(fields),
        version=_version(fields),
    )
    return f"In force again: {_describe_proposal(decided)}.", decided


def _reopen(delta: PlaybookDelta, caller: Caller, fields: FormInput) -> DecisionResult:
    decided = reopen.reopen_delta(
        delta,
        caller,
        version=_version(fields),
        release_reason=_release_reason(fields),
    )
    return "Reopened: it waits for a decision again.", decided


DECISION_ACTIONS = {
    "accept": DecisionAction(_accept),
    "edit": DecisionAction(_edit),
    "merge": DecisionAction(_merge),
    "reject": DecisionAction(_reject),
    "undo": DecisionAction(_undo),
    "rebase": DecisionAction(_rebase, is_last=True),
    "redo": DecisionAction(_redo, is_last=True),
    "reopen": DecisionAction(_reopen, is_last=True),
}


def undo_last_decision(
    delta: PlaybookDelta, caller: Caller, version: str
) -> DecisionResult:
    """Undo the last decision.

    A reverted proposal is in force again afterwards. Any other proposal is open again.
    """
    is_undone = delta.status == PlaybookDelta.DeltaStatus.REVERTED
    return (_redo if is_undone else _reopen)(delta, caller, {"version": version})


def _validated_data(
    form: type[serializers.Serializer[Any]], fields: FormInput, *names: str
) -> dict[str, Any]:
    """Validate the fields with these names, and the version, which every form contains."""
    values = {name: fields.get(name, "") for name in names}
    return validate_filled(
        form, {**values, "expected_version": fields.get("version", "")}
    )


def _version(fields: FormInput) -> int | None:
    version: int | None = _validated_data(WithVersion, fields).get("expected_version")
    return version


def _release_reason(fields: FormInput) -> str:
    data = validate_filled(
        WithRelease, {"release_reason": fields.get("release_reason", "")}
    )
    return str(data["release_reason"])


def _changed_fields(delta: PlaybookDelta, fields: FormInput) -> dict[str, str]:
    """Return the fields whose values differ from those of the proposal.

    A browser sends every field of a form. A field that the person emptied counts as
    changed.
    """
    return {
        name: fields[name]
        for name, stored in proposal_cards.edit_defaults(delta).items()
        if name in fields
        and fields[name].strip() != plain_text.with_newlines(stored).strip()
    }


def _entry_by_label(delta: PlaybookDelta, label: str, caller: Caller) -> PlaybookEntry:
    rows = PlaybookEntry.objects.visible_to(caller).filter(project=delta.project_id)
    found = rows.filter(label=label).first() if label and "\0" not in label else None
    if found is None:
        raise errors.Invalid(
            errors={
                "label": [
                    f"The playbook has no entry {label}."
                    if label
                    else "Name the entry."
                ]
            }
        )
    return entry_list.get(found.pk, caller, Role.CURATOR)


def _describe_proposal(delta: PlaybookDelta) -> str:
    entry = delta.entry
    return f"{delta.operation} {entry.label}" if entry else delta.operation
