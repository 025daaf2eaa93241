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

from common.rewording import Part
from common.text import clip

F = TypeVar("F", bound=Callable[..., Any])

IN_LIST = 140  # characters of a text in a cell of a list
IN_PANEL = 600
SHORT = 60  # a text of no more is not worth a break inside a word
# A stored request may be 1 MiB; a page that shows it whole is no help to anybody.
IN_PAGE = 20_000
ROWS = 50
SCROLLS, LINES = 600, 15  # a block of more may be higher than its box
TAGS = {"same": "span", "removed": "del", "added": "ins"}
IN_MARK, AROUND = 2_000, 160  # characters of a quote, and at either side


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
    most: int = ROWS,
) -> Panel:
    """A panel of at most `most` rows; give it one more to have that said."""
    every = list(rows)
    note = f"Only the first {most} are shown." if len(every) > most else ""
    return Panel(title, head, every[:most], empty, note)


def words(text: object, limit: int = IN_LIST) -> SafeString:
    """Text that cannot break the layout nor turn the direction of its neighbours."""
    shown = clip(str(text), limit)
    if not shown:
        return SafeString("")
    name = "am-words" if limit > SHORT else "am-words am-short"
    return format_html('<bdi class="{}">{}</bdi>', name, shown)


def block(text: object, limit: int = IN_PAGE) -> SafeString:
    """A text with its own line breaks; says how much of it is not shown."""
    whole = str(text)
    if not whole:
        return SafeString("")
    rest = len(whole) - limit
    more = f"\n… {rest:,} more characters" if rest > 0 else ""
    return preformatted(whole[:limit], more)


def marked(text: str, start: int, end: int) -> SafeString:
    """The part of a text from `start` to `end`, marked, with what stands around it."""
    first, last = max(0, start - AROUND), min(len(text), end + AROUND)
    stop = min(end, start + IN_MARK)
    return preformatted(
        "… " if first else "",
        text[first:start],
        format_html("<mark>{}</mark>", text[start:stop]),
        " …" if stop < end else "",
        text[end:last],
        " …" if last < len(text) else "",
    )


def preformatted(*parts: str) -> SafeString:
    """Parts of a text in one block; a long one scrolls, so the keyboard reaches it."""
    told = format_html_join("", "{}", ((part,) for part in parts))
    scrolls = len(told) > SCROLLS or told.count("\n") > LINES
    focus = SafeString(' tabindex="0"') if scrolls else ""
    return format_html('<pre class="am-block" dir="auto"{}>{}</pre>', focus, told)


def plain_json(value: Any, limit: int = IN_PAGE) -> SafeString:
    if value in (None, "", [], {}):
        return SafeString("")
    text = json.dumps(value, indent=2, ensure_ascii=False, cls=DjangoJSONEncoder)
    return block(text, limit)


def moment(at: datetime | str | None) -> str:
    if isinstance(at, str):
        return at[:19].replace("T", " ")
    return timezone.localtime(at).strftime("%Y-%m-%d %H:%M:%S") if at else ""


def when(at: datetime | None) -> SafeString:
    """The same with the moment that a machine reads."""
    if at is None:
        return SafeString("")
    return format_html('<time datetime="{}">{}</time>', at.isoformat(), moment(at))


def tags(names: Sequence[str]) -> SafeString:
    shown = ", ".join(names[:4]) + (f" +{len(names) - 4}" if len(names) > 4 else "")
    return words(shown, SHORT) if shown else SafeString("")


def link(model: str, pk: object, text: object = "", limit: int = IN_LIST) -> SafeString:
    """A link to the page of a row; `model` is `app_model`, as in the URL's name."""
    if pk is None or pk == "":
        return SafeString("")
    url = reverse(f"admin:{model}_change", args=[pk])
    return format_html(
        '<a class="am-link" href="{}">{}</a>', url, words(text or pk, limit)
    )


def many(model: str, where: str, text: str) -> SafeString:
    """A link to a list with a filter; `where` is its query string."""
    url = reverse(f"admin:{model}_changelist")
    return format_html('<a class="am-link" href="{}?{}">{}</a>', url, where, text)


def reworded(parts: Iterable[Part]) -> SafeString:
    """A text with what left it struck through and what came into it underlined."""
    # The names of tags are of this module's own, the texts are escaped.
    shown = (
        (SafeString(TAGS[part.kind]), part.text, SafeString(TAGS[part.kind]))
        for part in parts
    )
    return preformatted(format_html_join("", "<{}>{}</{}>", shown))


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> SafeString:
    """What changed, a line for each field: `name: old → new`."""
    lines = [
        f"{name}: {_short(before[name])} → {_short(after.get(name))}"
        if name in before
        else f"{name}: {_short(after.get(name))}"
        for name in dict.fromkeys([*before, *after])
    ]
    return block("\n".join(lines), 4_000)


def _short(value: Any) -> str:
    if isinstance(value, str):
        return clip(value, 300)
    return clip(json.dumps(value, ensure_ascii=False, cls=DjangoJSONEncoder), 300)


def labelled(
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
