"""Blame: find the change from which each word and column of an entry comes."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from common.text.word_diff import WORDS, match_words
from playbook.history.change_chains import ADDITIVE_COLUMNS, VERSION_COLUMNS
from playbook.models import PlaybookChange, PlaybookEntry
from playbook.queries import PlaybookChangeQuerySet

# The origin of each column. For the content, the value is a list with the origin of each
# word.
Origins = dict[str, Any]
# Counters and supports are sums of many changes.
UNTRACED_COLUMNS = VERSION_COLUMNS | ADDITIVE_COLUMNS


@dataclass(frozen=True)
class BlamePart:
    """A sequence of words of the current text, and the change that introduced these words."""

    text: str
    change: PlaybookChange


@dataclass(frozen=True)
class Blame:
    """The origins of an entry's words and columns.

    `columns` maps each column to the change that set the column last.
    """

    entry: PlaybookEntry
    parts: list[BlamePart]
    columns: dict[str, PlaybookChange]


def trace(entry: PlaybookEntry, changes: PlaybookChangeQuerySet) -> Blame:
    """Trace an entry through its changes.

    A revert restores the text, the columns, and the origins of both.
    """
    origins: Origins = {}
    before: dict[uuid.UUID, Origins] = {}
    text = ""
    words: list[PlaybookChange] = []
    for change in changes.without_use().in_order():
        before[change.pk] = {name: origins.get(name) for name in change.after}
        earlier = before.get(change.reverts_id, {}) if change.reverts_id else {}
        for name in change.after.keys() - UNTRACED_COLUMNS - {"content"}:
            origins[name] = earlier.get(name) or change
        if "content" in change.after:
            text, old = change.after["content"], text
            words = earlier.get("content") or _trace_words(old, words, text, change)
            origins["content"] = words
    parts = _join_words(text, origins.pop("content", []))
    return Blame(entry, parts, origins)


def _trace_words(
    old: str, origins: list[PlaybookChange], new: str, change: PlaybookChange
) -> list[PlaybookChange]:
    """Return the origin of each word of the new text."""
    found: list[PlaybookChange] = []
    for kind, start, end, new_start, new_end in match_words(
        WORDS.findall(old), WORDS.findall(new)
    ):
        is_equal = kind == "equal"
        found += origins[start:end] if is_equal else [change] * (new_end - new_start)
    return found


def _join_words(text: str, origins: list[PlaybookChange]) -> list[BlamePart]:
    pairs = zip(WORDS.findall(text), origins, strict=True)
    return [
        BlamePart("".join(word for word, _ in run), change)
        for change, run in groupby(pairs, key=lambda pair: pair[1])
    ]
