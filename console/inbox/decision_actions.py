"""The decisions about one proposal.

Each action validates the form, calls the function that decides, and returns a message.
The serializers are those of the API, so that the page and the API refuse the same
input.
"""

from __future__ import annotations

from collections.abc import Callable
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
    revert,
)
from playbook.review.merge_into_entry import NoMergedText
from playbook.serializers import deltas as forms
from playbook.serializers.entries import EntryText, WithVersion

# A dict of each reason code and the words that a curator reads.
REASONS = {code: code.replace("_", " ") for code in delta_review.REASON_CODES}
# A message, and the proposal as it was at the end of the decision's own transaction.
DecisionResult = tuple[str, PlaybookDelta]


def _accept(delta: PlaybookDelta, caller: Caller, fields: FormInput) -> DecisionResult:
    data = _validated_data(forms.AcceptDelta, fields, "note", "replaces")
    label = data.get("replaces")
    decided = decide.accept(
        delta,
        caller,
        version=data.get("expected_version"),
        note=data["note"],
        replaces=_entry_by_label(delta, label, caller) if label else None,
    )
    return f"Accepted: {_describe_proposal(decided)}.", decided


def _edit(delta: PlaybookDelta, caller: Caller, fields: FormInput) -> DecisionResult:
    changed: dict[str, Any] = _changed_fields(delta, fields)
    if "applies_to" in changed:
        changed["applies_to"] = comma_list.split(changed["applies_to"])
    changes = validate(EntryText, changed) or {"content": delta.content}
    decided = decide.edit_and_accept(
        delta,
        changes,
        caller,
        version=_version(fields),
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


def _undo(delta: PlaybookDelta, caller: Caller, fields: FormInput) -> DecisionResult:
    data = _validated_data(forms.UndoDelta, fields, "reason")
    decided = revert.undo_delta(
        delta,
        caller,
        reason=data["reason"],
        version=data.get("expected_version"),
    )
    is_back = decided.status in PlaybookDelta.IN_FORCE
    how = "is in force again" if is_back else "is as it was before"
    return f"Undone: {_describe_proposal(decided)} {how}.", decided


# A dict of the name of each decision and the function that makes it.
DECISIONS: dict[str, Callable[[PlaybookDelta, Caller, FormInput], DecisionResult]] = {
    "accept": _accept,
    "edit": _edit,
    "merge": _merge,
    "reject": _reject,
    "undo": _undo,
}


def undo_last_decision(
    delta: PlaybookDelta, caller: Caller, version: str
) -> DecisionResult:
    """Undo what a proposal did, or its undo."""
    return _undo(delta, caller, {"version": version})


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
