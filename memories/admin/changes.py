"""What a change did to a memory: its texts word by word, then its other fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from common import panels, rewording
from common.panels import moment, words
from memories.drafts import TEXTS
from memories.models import MemoryChange

SHOWN = 4_000  # characters of what changed in a text


def lines(changes: Iterable[MemoryChange]) -> Iterator[list[Any]]:
    for change in changes:
        yield [
            moment(change.at),
            change.action,
            words(change.actor, panels.SHORT),
            told(change.before, change.after),
            words(change.reason, 200),
        ]


def told(before: Mapping[str, Any], after: Mapping[str, Any]) -> SafeString:
    reworded = [name for name in TEXTS if before.get(name) and after.get(name)]
    texts = format_html_join(
        "", "{}", ((_text(name, before[name], after[name]),) for name in reworded)
    )
    old = {name: value for name, value in before.items() if name not in reworded}
    new = {name: value for name, value in after.items() if name not in reworded}
    return texts + panels.difference(old, new)


def _text(name: str, before: str, after: str) -> SafeString:
    parts = rewording.excerpt(rewording.words(before, after), SHOWN)
    return format_html("{}{}", words(f"{name}:", panels.SHORT), panels.reworded(parts))
