"""Where a sequence of messages may be cut. Pure functions.

A tool call and its result stay together: a model refuses one without the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from conversations.formats.message import Part

# A chunk of messages closes at the first of these two.
CHUNK_MESSAGES, CHUNK_TOKENS = 20, 4_000
# A chunk becomes a summary if it has this many messages, or CHUNK_TOKENS.
MIN_MESSAGES = 10
# A chunk that never comes to a place where it may be cut closes at this many messages.
MOST_MESSAGES = 100


class Cuttable(Protocol):
    """What a cut reads of a message."""

    @property
    def parts(self) -> Sequence[Part]: ...

    @property
    def tokens(self) -> int: ...


def has_part(message: Cuttable, kind: str) -> bool:
    return any(part["type"] == kind for part in message.parts)


def may_cut(before: Cuttable, after: Cuttable) -> bool:
    """Return whether no call stands right before the cut, and no result right after it."""
    return not (has_part(before, "tool_call") or has_part(after, "tool_result"))


def count_tail(newest_first: Iterable[Cuttable], size: int) -> int:
    """Return how many of the newest messages the fresh tail has.

    The tail has `size` messages, and more if the cut before it would part a call from its
    result.
    """
    if size <= 0:
        return 0
    count = 0
    after: Cuttable | None = None
    for message in newest_first:
        if count >= size and after is not None and may_cut(message, after):
            return count
        after = message
        count += 1
    return count


def is_full(chunk: Sequence[Cuttable]) -> bool:
    """Return whether a chunk is large enough to close."""
    return len(chunk) >= CHUNK_MESSAGES or _tokens(chunk) >= CHUNK_TOKENS


def is_compactable(chunk: Sequence[Cuttable]) -> bool:
    """Return whether a closed chunk is large enough to become a summary."""
    return len(chunk) >= MIN_MESSAGES or _tokens(chunk) >= CHUNK_TOKENS


def _tokens(chunk: Sequence[Cuttable]) -> int:
    return sum(message.tokens for message in chunk)


def _may_close(chunk: Sequence[Cuttable], after: Cuttable) -> bool:
    return len(chunk) >= MOST_MESSAGES or may_cut(chunk[-1], after)


def find_chunk(run: Iterable[Any]) -> list[Any]:
    """Return the first chunk of a run of messages; it may be too small to compact.

    The run may be read lazily: the chunk ends as soon as it is full and may be cut.
    """
    chunk: list[Any] = []
    for message in run:
        if is_full(chunk) and _may_close(chunk, message):
            return chunk
        chunk.append(message)
    return chunk
