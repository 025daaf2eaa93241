"""Panels of an entry: files, exposures, and the changes that introduced its words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from common.admin import panels
from common.admin.panels import PANEL_LIMIT, Panel, format_time, row_link, short_text
from common.caller import Caller
from memories.models import File
from playbook.admin.panel_tables import RUN, revision_link
from playbook.entries import freshness
from playbook.models import Exposure, PlaybookEntry
from playbook.reading import blame, change_list, exposures

FILE = "memories_file"
CHANGE = "playbook_playbookchange"
MAX_EXPOSURES = 20  # exposures of an entry on its page


def files_panel(entry: PlaybookEntry, caller: Caller) -> Panel:
    """List the files that make the entry suspect, then the other files that its text names."""
    rows = PlaybookEntry.objects.visible_to(caller).filter(pk=entry.pk).only("pk")
    changed = freshness.changed_files(freshness.annotate(rows, caller).get())
    anchored = entry.anchors.values_list("file_path", flat=True)
    paths = list(dict.fromkeys([*changed, *anchored[: panels.ROW_LIMIT]]))
    files = File.objects.visible_to(caller).filter(project_id=entry.project_id)
    known = {file.file_path: file for file in files.filter(file_path__in=paths)}
    return panels.table(
        f"Freshness: {_freshness_words(entry, changed)}",
        ["File", "Since it was confirmed", "Last change seen"],
        (_file_line(path, known.get(path), path in changed) for path in paths),
        empty="It names no file.",
    )


def _freshness_words(entry: PlaybookEntry, changed: Iterable[str]) -> str:
    """Describe the freshness in words.

    An entry may be both suspect and due.
    """
    parts = ["suspect"] if changed else []
    if freshness.is_due(entry.review_after):
        parts.append(f"due for review since {format_time(entry.review_after)}")
    return " and ".join(parts) or "fresh"


def _file_line(path: str, file: File | None, is_changed: bool) -> list[Any]:
    return [
        row_link(FILE, file.pk, path) if file else short_text(path),
        "changed" if is_changed else "unchanged",
        format_time(file.attested_change_at) if file else "never seen",
    ]


def exposures_panel(entry: PlaybookEntry, caller: Caller) -> Panel:
    use = exposures.count_use(entry)
    rows = Exposure.objects.visible_to(caller).filter(entry=entry)
    return panels.table(
        f"Given to agents: {use.times_given:,}, used: {use.times_used:,}",
        ["When", "Agent", "By", "Call", "Relevance", "Used", "Run"],
        (
            [
                format_time(one.at),
                short_text(one.agent_id, 60),
                one.source,
                short_text(one.request_id, 40),
                "" if one.relevance is None else f"{one.relevance:.3f}",
                one.get_used_as_display() or ("cited" if one.was_cited else ""),
                row_link(RUN, one.run_id),
            ]
            for one in rows[: MAX_EXPOSURES + 1]
        ),
        empty="No agent got it yet.",
        most=MAX_EXPOSURES,
    )


def blame_panel(entry: PlaybookEntry, caller: Caller) -> Panel:
    """List the changes of the text, each with the words that it introduced."""
    changes = change_list.of_entry(entry, caller).filter(after__has_key="content")
    parts = blame.trace(entry, changes.in_order())
    return panels.table(
        "Where its words come from",
        ["Words", "Change", "Revision", "Who", "When", "Why"],
        (
            [
                short_text(part.text, PANEL_LIMIT),
                row_link(
                    CHANGE, part.change.pk, part.change.action, panels.SHORT_LIMIT
                ),
                revision_link(part.change),
                short_text(part.change.actor, 60),
                format_time(part.change.changed_at),
                short_text(part.change.reason, 200),
            ]
            for part in parts.parts
        ),
        empty="No change of its text is known.",
    )
