"""A person merges the text of a waiting delta into an entry."""

from __future__ import annotations

from common import errors
from common.caller import Caller
from common.db import write
from common.text import same_text
from playbook import delta_vectors
from playbook.entries import neighbours
from playbook.history import operations
from playbook.lessons import person_edits
from playbook.lessons.draft import Operation, Producer
from playbook.models import PlaybookDelta, PlaybookEntry
from playbook.review import available, delta_review
from playbook.review.delta_review import EmbeddedText
from playbook.rule_text import merge_texts

Status = PlaybookDelta.DeltaStatus


class NoMergedText(errors.Refusal):
    """The two texts cannot be merged automatically; send the merged text as `content`."""

    status = 422
    code = "no_merged_text"


def merge(
    delta: PlaybookDelta,
    entry: PlaybookEntry,
    caller: Caller,
    *,
    embedded_text: EmbeddedText | None = None,
    version: int | None = None,
    entry_version: int | None = None,
    note: str = "",
) -> PlaybookDelta:
    """Apply a waiting addition or update as a merge into an entry.

    Without `embedded_text`, `make_text` merges the two texts. The delta keeps its
    original proposal in `suggested`. Raises StaleEntry if the entry has changed.
    """
    available.require("merge", delta, caller)
    embedded_text = embedded_text or make_text(delta, entry)
    if embedded_text.is_by_hand:
        person_edits.refuse_alone({"content": embedded_text.text}, caller)
    entry_version = entry_version or entry.version
    return _merge_locked(
        delta,
        entry,
        caller,
        embedded_text,
        (version, entry_version),
        note,
    )


def make_text(
    delta: PlaybookDelta, entry: PlaybookEntry, content: str = ""
) -> EmbeddedText:
    """Embed the merged text and return the text with its vector.

    The merged text is `content`. Without `content`, the two texts are merged so that
    every literal of both stays. Raises NoMergedText if the texts cannot be merged
    automatically.
    """
    _refuse_other_kind(delta, entry)
    if content:
        person_edits.refuse_secrets(delta.project, {"content": content})
    text = content or _combine_texts(entry, delta)
    vector = None if text == entry.content else neighbours.embed_text(text)
    return EmbeddedText(text, vector, is_by_hand=bool(content))


def _refuse_other_kind(delta: PlaybookDelta, entry: PlaybookEntry) -> None:
    refusal = available.operation_refusal(
        "merge", delta.operation, has_content=bool(delta.content)
    )
    if refusal:
        raise refusal
    if entry.project_id != delta.project_id:
        raise errors.NotFound(f"There is no entry {entry.pk} in this project.")


def _combine_texts(entry: PlaybookEntry, delta: PlaybookDelta) -> str:
    text = merge_texts.merge(entry.content, delta.content)
    # "Never pass `path`" has all words of "Pass `path`", and says the opposite.
    if text is None or not all(
        same_text.join_words(part) in same_text.join_words(text)
        for part in (entry.content, delta.content)
    ):
        raise NoMergedText(
            f"Code cannot merge the texts of {entry.label} and of the delta; "
            "send the merged text as `content`."
        )
    return text


@write
def _merge_locked(
    delta: PlaybookDelta,
    entry: PlaybookEntry,
    caller: Caller,
    embedded_text: EmbeddedText,
    versions: tuple[int | None, int],
    note: str,
) -> PlaybookDelta:
    version, entry_version = versions
    playbook, delta = delta_review.lock_delta(delta, "merge", caller, version=version)
    _retarget(delta, entry, entry_version, embedded_text.text)
    if embedded_text.is_by_hand:
        delta.producer = Producer.HUMAN
    delta_review.sign(delta, caller, note)
    status = Status.EDITED if embedded_text.is_by_hand else Status.ACCEPTED
    operations.apply(
        playbook,
        delta,
        caller,
        status=status,
        vector=embedded_text.vector,
    )
    delta_vectors.drop(delta)
    delta_review.audit(delta, caller, "merge")
    return delta


def _retarget(
    delta: PlaybookDelta, entry: PlaybookEntry, version: int, text: str
) -> None:
    """Make the entry the target of the delta.

    The entry keeps its other columns and gets additional tags.
    """
    delta.suggested = delta_review.original_proposal(delta)
    delta.operation = Operation.MERGE
    delta.entry, delta.expected_version = entry, version
    delta.content, delta.category = text, ""
    for name in ("condition", "action"):
        delta.payload.pop(name, None)
    delta.applies_to = None
    if delta.tags:
        delta.tags = list(dict.fromkeys([*entry.tags, *delta.tags]))
