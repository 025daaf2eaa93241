"""A waiting rule put into an entry that stands, by a person."""

from __future__ import annotations

from common import errors
from common.caller import Caller, Role
from common.db import write
from playbook import (
    applying,
    curation,
    disputes,
    merging,
    neighbours,
    proposals,
    rejected,
    reviewing,
)
from playbook.drafts import Operation, Producer
from playbook.models import PlaybookDelta, PlaybookEntry
from playbook.reviewing import Made

Status = PlaybookDelta.Status


class NoMergedText(errors.Refusal):
    """Code cannot make one text of the two; send the merged text as `content`."""

    status = 422
    code = "no_merged_text"


def merge_into(
    delta: PlaybookDelta,
    entry: PlaybookEntry,
    caller: Caller,
    *,
    made: Made | None = None,
    version: int | None = None,
    entry_version: int | None = None,
    note: str = "",
) -> PlaybookDelta:
    """Apply a waiting addition or update as a merge into an entry.

    Without a text that was made before, code makes one (`text_for`). What was proposed
    stays in `suggested`. Raises StaleEntry when the entry has changed meanwhile.
    """
    caller.require(Role.CURATOR, delta.project_id)
    reviewing.refuse_own(delta, caller)
    made = made or text_for(delta, entry)
    seen = entry_version or entry.version
    return _merge(delta, entry, caller, made, (version, seen), note)


def text_for(delta: PlaybookDelta, entry: PlaybookEntry, content: str = "") -> Made:
    """The merged text: a person's, or one by code that keeps every literal of both.

    Raises NoMergedText when code cannot make one.
    """
    _refuse_misfit(delta, entry)
    if content:
        curation.refuse_secrets(delta.project, {"content": content})
    text = content or _merged(entry, delta)
    vector = None if text == entry.content else neighbours.embed_one(text)
    return Made(text, vector, by_hand=bool(content))


def _refuse_misfit(delta: PlaybookDelta, entry: PlaybookEntry) -> None:
    if delta.operation not in (Operation.ADD, Operation.UPDATE) or not delta.content:
        raise reviewing.DeltaState(
            f"A delta that is a {delta.operation} has no text to merge."
        )
    if entry.project_id != delta.project_id:
        raise errors.NotFound(f"There is no entry {entry.pk} in this project.")


def _merged(entry: PlaybookEntry, delta: PlaybookDelta) -> str:
    apart = neighbours.disagreement_beside_names(entry.content, delta.content)
    if apart:
        raise NoMergedText(
            f"It disagrees with {entry.label} ({apart}); send the merged text as "
            "`content`, or decide which of the two holds."
        )
    text = merging.merged(entry.content, delta.content)
    if text is None:
        raise NoMergedText(
            f"No text of one lesson's length holds what {entry.label} and this say; "
            "send the merged text as `content`."
        )
    return text


@write
def _merge(
    delta: PlaybookDelta,
    entry: PlaybookEntry,
    caller: Caller,
    made: Made,
    versions: tuple[int | None, int],
    note: str,
) -> PlaybookDelta:
    version, seen = versions
    playbook, delta = reviewing.hold_delta(delta, version)
    _aim(delta, entry, seen, made.text)
    if made.by_hand:
        delta.producer = Producer.HUMAN
    reviewing.sign(delta, caller, note)
    status = Status.EDITED if made.by_hand else Status.ACCEPTED
    applying.apply(playbook, delta, caller, status=status, vector=made.vector)
    rejected.forget(delta)
    disputes.file(delta, proposals.again(delta, made.vector).match)
    reviewing.audit(delta, caller, "merge")
    return delta


def _aim(delta: PlaybookDelta, entry: PlaybookEntry, version: int, text: str) -> None:
    """The entry keeps its section, condition and action, and takes the tags as well."""
    delta.suggested = reviewing.as_proposed(delta)
    delta.operation = Operation.MERGE
    delta.entry, delta.expected_version = entry, version
    delta.content, delta.category = text, ""
    for name in ("condition", "action"):
        delta.payload.pop(name, None)
    if tags := delta.payload.pop("tags", None):
        delta.payload["tags"] = list(dict.fromkeys([*entry.tags, *tags]))
