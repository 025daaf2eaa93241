"""The weekly page as Markdown, in which texts from outside stay text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from django.urls import reverse
from django.utils import timezone

from common.text.plain_text import clip
from console.weekly import week_summary
from console.weekly.week_summary import WeekLesson, WeekSummary

MAX_TEXT = 600  # characters of a text
TITLES = {
    week_summary.NEW: "New",
    week_summary.CHANGED: "Changed",
    week_summary.REFUTED: "Refuted and taken out",
}
# What Markdown, HTML in it or a usual extension (links from bare addresses, maths,
# mentions) gives a meaning to, and the marks that turn the direction of a line.
_MARKUP = re.compile(r"[\\`*_{}\[\]<>()#!|~&:@$^=]|(?<=www)\.")
_DIRECTION_MARKS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")

Absolute = Callable[[str], str]


def render_markdown(found: WeekSummary, project: str, absolute: Absolute) -> str:
    """`absolute` makes the address of a path."""
    week = found.week
    lines = [
        f"# {escape_text(project)}: learned in {week}",
        f"{week.monday} to {week.sunday}, {timezone.get_current_timezone_name()}",
    ]
    for kind, title in TITLES.items():
        lines += _section(
            title, (_lesson_lines(one, absolute) for one in found.lessons[kind])
        )
    lines += _section(
        "Contested", (_contested_line(one, absolute) for one in found.contested)
    )
    lines += _section(
        "Conflicts",
        (
            f"- {_link(one.reason, 'playbook_conflict', one.pk, absolute)} "
            f"({escape_text(one.state)})"
            for one in found.conflicts
        ),
    )
    if found.is_cut:
        lines.append(f"Only the newest {week_summary.MAX_CHANGES} changes are told.")
    return "\n\n".join(lines) + "\n"


def escape_text(value: object, limit: int = MAX_TEXT) -> str:
    """One line that Markdown shows as it is."""
    plain = _DIRECTION_MARKS.sub("", " ".join(str(value).split()))
    return _MARKUP.sub(r"\\\g<0>", clip(plain, limit))


def _section(title: str, lines: Iterable[str]) -> list[str]:
    return [f"## {title}", "\n".join(lines) or "Nothing."]


def _lesson_lines(one: WeekLesson, absolute: Absolute) -> str:
    told = f"{one.how}; evidence: {one.evidence}; decided by {one.decided_by}"
    why = f". {one.why}" if one.why else ""
    return f"{_entry_line(one, absolute)}\n  {escape_text(told + why)}"


def _contested_line(one: WeekLesson, absolute: Absolute) -> str:
    return f"{_entry_line(one, absolute)}\n  Harmful votes\\: {one.harmful}"


def _entry_line(one: WeekLesson, absolute: Absolute) -> str:
    named = _link(one.label, "playbook_playbookentry", one.entry_id, absolute)
    return f"- **{named}** {escape_text(one.text)}"


def _link(shown: str, model: str, pk: object, absolute: Absolute) -> str:
    url = absolute(reverse(f"admin:{model}_change", args=[pk]))
    return f"[{escape_text(shown) or 'no words'}]({url})"
