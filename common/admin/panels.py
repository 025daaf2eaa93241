"""Render tables and texts for admin pages; every text is escaped."""

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
from common.text.visible import drop_invisible
from common.text.word_diff import DiffPart

F = TypeVar("F", bound=Callable[..., Any])

LIST_LIMIT = 140  # characters of a text in a cell of a list
PANEL_LIMIT = 600
SHORT_LIMIT = 60  # characters of a text that is never broken inside a word
# A stored request can have 1 MiB, which is too much for a page.
PAGE_LIMIT = 20_000
ROW_LIMIT = 50
# A block with more characters than this may be higher than its box.
SCROLL_CHARACTERS, SCROLL_LINES = 600, 15
TAGS = {"same": "span", "removed": "del", "added": "ins"}


@dataclass(frozen=True)
class Panel:
    """A table under the fields of a row; `note` says which rows are left out."""

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
    """Return a panel of at most `most` rows; if there are more rows, its note says so."""
    all_rows = list(rows)
    note = f"Only the first {most} are shown." if len(all_rows) > most else ""
    return Panel(title, head, all_rows[:most], empty, note)


def short_text(text: object, limit: int = LIST_LIMIT) -> SafeString:
    """Render a text that cannot break the layout or the direction of text around it."""
    excerpt = clip(drop_invisible(str(text)), limit)
    if not excerpt:
        return SafeString("")
    name = "am-words" if limit > SHORT_LIMIT else "am-words am-short"
    return format_html('<bdi class="{}">{}</bdi>', name, excerpt)


def text_block(text: object, limit: int = PAGE_LIMIT) -> SafeString:
    """Render a text with its line breaks; say how many characters are left out."""
    full = drop_invisible(str(text))
    if not full:
        return SafeString("")
    rest = len(full) - limit
    more = f"\n… {rest:,} more characters" if rest > 0 else ""
    return _block(full[:limit], more)


def _block(*parts: str) -> SafeString:
    """Join parts of a text into one block; a long block can be focused, because it scrolls."""
    html = format_html_join("", "{}", ((part,) for part in parts))
    scrolls = len(html) > SCROLL_CHARACTERS or html.count("\n") > SCROLL_LINES
    focus = SafeString(' tabindex="0"') if scrolls else ""
    return format_html('<pre class="am-block" dir="auto"{}>{}</pre>', focus, html)


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
    """Render a time with its machine-readable value."""
    if at is None:
        return SafeString("")
    return format_html('<time datetime="{}">{}</time>', at.isoformat(), format_time(at))


def tag_list(names: Sequence[str]) -> SafeString:
    text = ", ".join(names[:4]) + (f" +{len(names) - 4}" if len(names) > 4 else "")
    return short_text(text, SHORT_LIMIT) if text else SafeString("")


def row_link(
    model: str, pk: object, text: object = "", limit: int = LIST_LIMIT
) -> SafeString:
    """Link to the page of a row; `model` has the form `app_model`, as in the URL's name."""
    if pk is None or pk == "":
        return SafeString("")
    url = reverse(f"admin:{model}_change", args=[pk])
    return format_html(
        '<a class="am-link" href="{}">{}</a>', url, short_text(text or pk, limit)
    )


def list_link(model: str, where: str, text: str) -> SafeString:
    """Link to a list with a filter; `where` is its query string."""
    url = reverse(f"admin:{model}_changelist")
    return format_html('<a class="am-link" href="{}?{}">{}</a>', url, where, text)


def diff_block(parts: Iterable[DiffPart]) -> SafeString:
    """Render a difference: removed text struck through, added text underlined."""
    # The tag names are constants of this module; the texts are escaped.
    pieces = (
        (
            SafeString(TAGS[part.kind]),
            drop_invisible(part.text),
            SafeString(TAGS[part.kind]),
        )
        for part in parts
    )
    return _block(format_html_join("", "<{}>{}</{}>", pieces))


def change_block(before: Mapping[str, Any], after: Mapping[str, Any]) -> SafeString:
    """Render a change, one line for each field: `name: old → new`."""
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
    """Make a computed column that renders its values as coloured labels."""
    decorator: Callable[[F], F] = display(
        description=title, label=dict(colours), ordering=ordering
    )
    return decorator


def column(
    name: str,
    render: Callable[[Any], Any],
    *,
    title: str = "",
    ordering: str | None = None,
) -> Any:
    """Make a computed column of one attribute: `column("content", short_text)`."""

    @admin.display(description=title or name.replace("_", " "), ordering=ordering)
    def display(row: Any) -> Any:
        return render(getattr(row, name))

    display.__name__ = f"{name}_display"
    return staticmethod(display)
