"""Render the weekly page as Markdown, with its texts escaped."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from django.urls import reverse
from django.utils import timezone

from common.text.plain_text import clip
from common.text.quote import visible_line
from console.weekly import week_summary
from console.weekly.week_summary import WeekLesson, WeekSummary

MAX_TEXT = 600  # characters shown of a text
TITLES = {
    week_summary.NEW: "New rules",
    week_summary.CHANGED: "Changed rules",
    week_summary.REFUTED: "Refuted and removed",
}
# Characters with a meaning in Markdown, in the HTML in Markdown, or in a usual extension
# (links from bare addresses, maths, mentions).
_MARKUP = re.compile(r"[\\`*_{}\[\]<>()#!|~&:@$^=]|(?<=www)\.")

Absolute = Callable[[str], str]


def render_markdown(summary: WeekSummary, project: str, absolute: Absolute) -> str:
    """Render a week; `absolute` turns a path into a URL."""
    week = summary.week
    lines = [
        f"# {escape_text(project)}: learned in {week}",
        f"{week.monday} to {week.sunday}, {timezone.get_current_timezone_name()}",
        "\n".join(f"- {escape_text(said)}" for said in summary.sentences),
    ]
    for kind, title in TITLES.items():
        lines += _section(
            title, (_lesson_lines(one, absolute) for one in summary.lessons[kind])
        )
    lines += _section(
        "Contested", (_contested_line(one, absolute) for one in summary.contested)
    )
    if summary.is_cut:
        lines.append(f"Only the newest {week_summary.MAX_CHANGES} changes are listed.")
    return "\n\n".join(lines) + "\n"


def escape_text(value: object, limit: int = MAX_TEXT) -> str:
    """Return a text as one line that Markdown shows literally."""
    plain = clip(visible_line(str(value)), limit)
    return _MARKUP.sub(r"\\\g<0>", plain)


def _section(title: str, lines: Iterable[str]) -> list[str]:
    return [f"## {title}", "\n".join(lines) or "Nothing."]


def _lesson_lines(one: WeekLesson, absolute: Absolute) -> str:
    details = f"{one.actions}; evidence: {one.evidence}; decided by {one.decided_by}"
    why = f". {one.why}" if one.why else ""
    return f"{_entry_line(one, absolute)}\n  {escape_text(details + why)}"


def _contested_line(one: WeekLesson, absolute: Absolute) -> str:
    return f"{_entry_line(one, absolute)}\n  Harmful votes\\: {one.harmful}"


def _entry_line(one: WeekLesson, absolute: Absolute) -> str:
    page = reverse("admin:playbook_playbookentry_change", args=[one.entry_id])
    link = _link(one.label, absolute(page))
    return f"- **{link}** {escape_text(one.text)}"


def _link(label: str, url: str) -> str:
    return f"[{escape_text(label) or 'no words'}]({url})"
