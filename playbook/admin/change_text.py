"""Display the change of an entry: a word diff of the text, and the other columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.safestring import SafeString

from common.admin import panels
from common.text import word_diff
from playbook.reading.revision_diff import EntryDifference

# Columns that every change sets.
VERSION_COLUMNS = {"version", "updated_at"}


def other_columns(one: EntryDifference) -> SafeString:
    columns = {name: pair for name, pair in one.columns.items() if name != "content"}
    if not columns or one.kind == "added":
        return SafeString("")
    before = {name: pair[0] for name, pair in columns.items()}
    after = {name: pair[1] for name, pair in columns.items()}
    return panels.change_block(before, after)


def describe_change(before: Mapping[str, Any], after: Mapping[str, Any]) -> SafeString:
    """Display the word diff of the text, then the other columns.

    For a new entry, display only the text.
    """
    names = [
        n for n in {**before, **after} if n != "content" and n not in VERSION_COLUMNS
    ]
    texts = [str(side.get("content") or "") for side in (before, after)]
    words = (
        panels.diff_block(word_diff.diff_words(*texts))
        if any(texts)
        else SafeString("")
    )
    if not names or (words and not before):
        return words
    old = {name: before[name] for name in names if name in before}
    new = {name: after.get(name) for name in names}
    return words + panels.change_block(old, new)
