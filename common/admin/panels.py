"""Pieces of admin pages. Texts come from outside: everything here is escaped."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from django.contrib import admin
from django.core.serializers.json import DjangoJSONEncoder
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from unfold.decorators import display

from common.text.plain_text import clip
from common.text.word_diff import DiffPart

F = TypeVar("F", bound=Callable[..., Any])

LIST_LIMIT = 140  # characters of a text in a cell of a list
PANEL_LIMIT = 600
SHORT_LIMIT = 60  # a text of no more is not worth a break inside a word
# A stored request may be 1 MiB; a page that shows it whole is no help to anybody.
PAGE_LIMIT = 20_000
ROW_LIMIT = 50
SCROLL_CHARACTERS, SCROLL_LINES = 600, 15  # a block of more may be higher than its box
TAGS = {"same": "span", "removed": "del", "added": "ins"}
MARK_LIMIT, MARK_CONTEXT = 2_000, 160  # characters of a quote, and at either side


@dataclass(frozen=True)
class Panel:
    """A table under the fields of a row; `note` says what is left out."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[Any]] = field(default_factory=list)
    empty: str = "Nothing here."
    note: str = ""

    @property
    def has_head(self) -> bool:
        return any(self.head)


def table(
    title: str,
    head: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    empty: str = "Nothing here.",
    most: int = ROW_LIMIT,
) -> Panel:
    """A panel of at most `most` rows; give it one more to have that said."""
    every = list(rows)
    note = f"Only the first {most} are shown." if len(every) > most else ""
    return Panel(title, head, every[:most], empty, note)


def short_text(text: object, limit: int = LIST_LIMIT) -> SafeString:
    """Text that cannot break the layout nor turn the direction of its neighbours."""
    shown = clip(str(text), limit)
    if not shown:
        return SafeString("")
    name = "am-words" if limit > SHORT_LIMIT else "am-words am-short"
    return format_html('<bdi class="{}">{}</bdi>', name, shown)


def text_block(text: object, limit: int = PAGE_LIMIT) -> SafeString:
    """A text with its own line breaks; says how much of it is not shown."""
    whole = str(text)
    if not whole:
        return SafeString("")
    rest = len(whole) - limit
    more = f"\n… {rest:,} more characters" if rest > 0 else ""
    return pre_block(whole[:limit], more)


def highlight(text: str, start: int, end: int) -> SafeString:
    """The part of a text from `start` to `end`, marked, with what stands around it."""
    first, last = max(0, start - MARK_CONTEXT), min(len(text), end + MARK_CONTEXT)
    stop = min(end, start + MARK_LIMIT)
    return pre_block(
        "… " if first else "",
        text[first:start],
        format_html("<mark>{}</mark>", text[start:stop]),
        " …" if stop < end else "",
        text[end:last],
        " …" if last < len(text) else "",
    )


def pre_block(*parts: str) -> SafeString:
    """Parts of a text in one block; a long one scrolls, so the keyboard reaches it."""
    told = format_html_join("", "{}", ((part,) for part in parts))
    scrolls = len(told) > SCROLL_CHARACTERS or told.count("\n") > SCROLL_LINES
    focus = SafeString(' tabindex="0"') if scrolls else ""
    return format_html('<pre class="am-block" dir="auto"{}>{}</pre>', focus, told)


def json_block(value: Any, limit: int = PAGE_LIMIT) -> SafeString:
    if value in (None, "", [], {}):
        return SafeString("")
    text = json.dumps(value, indent=2, ensure_ascii=False, cls=DjangoJSONEncoder)
    return text_block(text, limit)


def format_time(at: datetime | str | None) -> str:
    if isinstance(at, str):
        return at[:19].replace("T", " ")
    return timezone.localtime(at).strftime("%Y-%m-%d %H:%M:%S") if at else ""


def time_tag(at: datetime | None) -> SafeString:
    """The same with the moment that a machine reads."""
    if at is None:
        return SafeString("")
    return format_html('<time datetime="{}">{}</time>', at.isoformat(), format_time(at))


def tag_list(names: Sequence[str]) -> SafeString:
    shown = ", ".join(names[:4]) + (f" +{len(names) - 4}" if len(names) > 4 else "")
    return short_text(shown, SHORT_LIMIT) if shown else SafeString("")


def row_link(
    model: str, pk: object, text: object = "", limit: int = LIST_LIMIT
) -> SafeString:
    """A link to the page of a row; `model` is `app_model`, as in the URL's name."""
    if pk is None or pk == "":
        return SafeString("")
    url = reverse(f"admin:{model}_change", args=[pk])
    return format_html(
        '<a class="am-link" href="{}">{}</a>', url, short_text(text or pk, limit)
    )


def list_link(model: str, where: str, text: str) -> SafeString:
    """A link to a list with a filter; `where` is its query string."""
    url = reverse(f"admin:{model}_changelist")
    return format_html('<a class="am-link" href="{}?{}">{}</a>', url, where, text)


def diff_block(parts: Iterable[DiffPart]) -> SafeString:
    """A text with what left it struck through and what came into it underlined."""
    # The names of tags are of this module's own, the texts are escaped.
    shown = (
        (SafeString(TAGS[part.kind]), part.text, SafeString(TAGS[part.kind]))
        for part in parts
    )
    return pre_block(format_html_join("", "<{}>{}</{}>", shown))


def change_block(before: Mapping[str, Any], after: Mapping[str, Any]) -> SafeString:
    """What changed, a line for each field: `name: old → new`."""
    lines = [
        f"{name}: {_short_value(before[name])} → {_short_value(after.get(name))}"
        if name in before
        else f"{name}: {_short_value(after.get(name))}"
        for name in dict.fromkeys([*before, *after])
    ]
    return text_block("\n".join(lines), 4_000)


def _short_value(value: Any) -> str:
    if isinstance(value, str):
        return clip(value, 300)
    return clip(json.dumps(value, ensure_ascii=False, cls=DjangoJSONEncoder), 300)


def label_column(
    title: str, colours: Mapping[str, str], ordering: str | None = None
) -> Callable[[F], F]:
    """A computed column whose values are shown as coloured labels."""
    as_labels: Callable[[F], F] = display(
        description=title, label=dict(colours), ordering=ordering
    )
    return as_labels


def column(
    name: str,
    show: Callable[[Any], Any],
    *,
    title: str = "",
    ordering: str | None = None,
) -> Callable[[Any], Any]:
    """A computed column that shows one attribute: `column("content", words)`."""

    @admin.display(description=title or name.replace("_", " "), ordering=ordering)
    def display(row: Any) -> Any:
        return show(getattr(row, name))

    display.__name__ = f"{name}_shown"
    return display
