"""Table rows for the changes of a memory.

The rows compare texts word by word, and then list the other fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from common.admin import panels
from common.admin.panels import format_time, short_text
from common.text import word_diff
from memories.models import MemoryChange
from memories.store.drafts import TEXT_FIELDS

MAX_DIFF = 4_000  # the maximum number of characters in the difference of one text


def rows_of(changes: Iterable[MemoryChange]) -> Iterator[list[Any]]:
    for change in changes:
        yield [
            format_time(change.at),
            change.action,
            short_text(change.actor, panels.SHORT_LIMIT),
            describe(change.before, change.after),
            short_text(change.reason, 200),
        ]


def describe(before: Mapping[str, Any], after: Mapping[str, Any]) -> SafeString:
    reworded = [name for name in TEXT_FIELDS if before.get(name) and after.get(name)]
    texts = format_html_join(
        "", "{}", ((_text(name, before[name], after[name]),) for name in reworded)
    )
    old = {name: value for name, value in before.items() if name not in reworded}
    new = {name: value for name, value in after.items() if name not in reworded}
    return texts + panels.change_block(old, new)


def _text(name: str, before: str, after: str) -> SafeString:
    parts = word_diff.excerpt(word_diff.diff_words(before, after), MAX_DIFF)
    return format_html(
        "{}{}", short_text(f"{name}:", panels.SHORT_LIMIT), panels.diff_block(parts)
    )
