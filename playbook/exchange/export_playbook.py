"""Export a playbook as text. The same rows always give the same bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from common.caller import Caller, Role
from playbook.exchange import ace_format, managed_block, skill_files
from playbook.exchange.ace_format import RuleLine
from playbook.models import PlaybookEntry
from playbook.reading import renderer
from projects.models import Project

Format = Literal["ace", "agents-md", "skills"]
FORMATS = ("ace", "agents-md", "skills")
MEDIA_TYPES = {
    "ace": "text/plain; charset=utf-8",
    "agents-md": "text/markdown; charset=utf-8",
    "skills": "application/json",
}


def export_text(project: Project, caller: Caller, *, format: Format) -> str:
    """Export as ACE lines, a managed block, or a folder of skills."""
    caller.require(Role.VIEWER, project.pk)
    formats = {"ace": _ace, "agents-md": _block, "skills": _skills}
    return formats[format](project, caller)


def _ace(project: Project, caller: Caller) -> str:
    """Format every active entry, grouped by section."""
    return format_ace(_by_section(project, _live(project, caller)))


def format_ace(entries: Iterable[PlaybookEntry]) -> str:
    return ace_format.format(
        RuleLine(
            entry.label,
            entry.content,
            helpful=entry.helpful,
            harmful=entry.harmful,
            section=entry.category,
        )
        for entry in entries
    )


def _block(project: Project, caller: Caller) -> str:
    """Format a managed block of whole lines that fit within the token budget for agents."""
    live = _live(project, caller)
    budget = project.options.budgets.render_tokens
    fitting = renderer.fit_budget(
        renderer.sort_entries(live, renderer.TaskFit()), budget
    )
    body = managed_block.format_entries(_by_section(project, fitting))
    if left_out := len(live) - len(fitting):
        body += f"\n<!-- {left_out} more in the service: no room for them here. -->\n"
    return managed_block.block(body)


def _skills(project: Project, caller: Caller) -> str:
    entries = _by_section(project, _live(project, caller))
    return skill_files.write(project, entries)


def _live(project: Project, caller: Caller) -> list[PlaybookEntry]:
    rows = PlaybookEntry.objects.visible_to(caller).filter(project=project)
    return list(rows.current().light())


def _by_section(
    project: Project, entries: Sequence[PlaybookEntry]
) -> list[PlaybookEntry]:
    """Sort by the project's order of categories, then by the number in the label."""
    order = {name: place for place, name in enumerate(project.options.categories)}

    def key(entry: PlaybookEntry) -> tuple[int, str, int, str]:
        place = order.get(entry.category, len(order))
        return place, entry.category, _number(entry.label), entry.label

    return sorted(entries, key=key)


def _number(label: str) -> int:
    digits = label.rpartition("-")[2]
    return int(digits) if digits.isdigit() else 0
