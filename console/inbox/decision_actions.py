"""What a person decides about one proposal: what is typed, the function, what is said.

The forms are those of the API, so that both doors refuse the same in the same words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rest_framework import serializers

from common import errors
from common.caller import Caller, Role
from common.text import plain_text
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
from playbook.serializers.entries import EntryText, WithVersion

# In words, as a curator reads them: {code: words}.
REASONS = {code: code.replace("_", " ") for code in delta_review.REASON_CODES}
# Its words, and the proposal as its own transaction left it.
DecisionResult = tuple[str, PlaybookDelta]


@dataclass(frozen=True)
class DecisionAction:
    """`do` decides; what it did can be undone unless it `is_last`."""

    do: Callable[[PlaybookDelta, Caller, FormInput], DecisionResult]
    is_last: bool = False


def _accept(delta: PlaybookDelta, caller: Caller, typed: FormInput) -> DecisionResult:
    data = _validated_data(forms.AcceptDelta, typed, "note")
    version = data.get("expected_version")
    done = decide.accept(delta, caller, version=version, note=data["note"])
    return f"Accepted: {_describe_proposal(done)}.", done


def _edit(delta: PlaybookDelta, caller: Caller, typed: FormInput) -> DecisionResult:
    changes = validate(EntryText, _changed_fields(delta, typed))
    version = _version(typed)
    done = decide.edit_and_accept(delta, changes, caller, version=version)
    return f"Accepted in your words: {_describe_proposal(done)}.", done


def _merge(delta: PlaybookDelta, caller: Caller, typed: FormInput) -> DecisionResult:
    entry = _entry_by_label(delta, typed.get("label", "").strip(), caller)
    told = {**typed, "entry_id": str(entry.pk), "content": typed.get("merged", "")}
    data = _validated_data(
        forms.MergeDelta, told, "entry_id", "entry_version", "content"
    )
    try:
        made = merge_into_entry.make_text(delta, entry, data.get("content", ""))
    except NoMergedText as refusal:
        # For the field in which the person makes one text of the two.
        refusal.extra["merged"] = f"{entry.content} {delta.content}"
        raise
    done = merge_into_entry.merge(
        delta,
        entry,
        caller,
        embedded_text=made,
        version=data.get("expected_version"),
        entry_version=data.get("entry_version"),
    )
    return f"Merged into {entry.label}.", done


def _reject(delta: PlaybookDelta, caller: Caller, typed: FormInput) -> DecisionResult:
    code = typed.get("reason_code", "")
    told = {**typed, "reason": typed.get("reason") or REASONS.get(code, "")}
    data = _validated_data(forms.RejectDelta, told, "reason", "reason_code")
    done = decide.reject(
        delta,
        caller,
        reason=data["reason"],
        reason_code=data["reason_code"],
        version=data.get("expected_version"),
    )
    return f"Rejected: {data['reason']}.", done


def _rebase(delta: PlaybookDelta, caller: Caller, typed: FormInput) -> DecisionResult:
    done = rebase.rebase_delta(delta, caller, version=_version(typed)).delta
    named = done.entry.label if done.entry else "a decision"
    return f"Renewed: it waits for {named} as it is now.", done


def _undo(delta: PlaybookDelta, caller: Caller, typed: FormInput) -> DecisionResult:
    reason = typed.get("reason", "")[:1000]
    done = revert.undo_delta(delta, caller, reason=reason, version=_version(typed))
    return f"Undone: {_describe_proposal(done)} is as it was before.", done


def _redo(delta: PlaybookDelta, caller: Caller, typed: FormInput) -> DecisionResult:
    done = revert.redo_delta(delta, caller, version=_version(typed))
    return f"In force again: {_describe_proposal(done)}.", done


def _reopen(delta: PlaybookDelta, caller: Caller, typed: FormInput) -> DecisionResult:
    done = reopen.reopen_delta(delta, caller, version=_version(typed))
    return "Reopened: it waits for a decision again.", done


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
    """The opposite of the last decision: what was undone is in force, else it waits."""
    is_undone = delta.status == PlaybookDelta.DeltaStatus.REVERTED
    return (_redo if is_undone else _reopen)(delta, caller, {"version": version})


def _validated_data(
    form: type[serializers.Serializer[Any]], typed: FormInput, *names: str
) -> dict[str, Any]:
    """The named fields; a version stands in every form."""
    told = {name: typed.get(name, "") for name in names}
    return validate_filled(form, {**told, "expected_version": typed.get("version", "")})


def _version(typed: FormInput) -> int | None:
    version: int | None = _validated_data(WithVersion, typed).get("expected_version")
    return version


def _changed_fields(delta: PlaybookDelta, typed: FormInput) -> dict[str, str]:
    """A browser sends every field of a form, also those that nobody touched.

    One that was emptied is sent as it is.
    """
    return {
        name: typed[name]
        for name, stored in proposal_cards.edit_defaults(delta).items()
        if name in typed
        and typed[name].strip() != plain_text.with_newlines(stored).strip()
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
