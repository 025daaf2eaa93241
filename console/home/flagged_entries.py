"""Panels of entries that a person should check: harmful, contested and suspect ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import F
from django.utils.safestring import SafeString

from common.admin import panels
from common.admin.panels import Panel, format_time, row_link, short_text
from common.caller import Caller
from console import list_urls
from playbook.entries import freshness
from playbook.models import PlaybookEntry
from playbook.queries import EntryQuerySet
from projects.models import Project

ENTRY = "playbook_playbookentry"
MAX_LISTED = 5
VOTES = "Helpful / harmful"


def build_panels(project: Project, caller: Caller) -> Iterable[Panel]:
    rows: EntryQuerySet = (
        PlaybookEntry.objects.visible_to(caller)
        .current()
        .light()
        .filter(project=project)
    )
    yield _harmful_panel(rows)
    yield _contested_panel(rows, caller)
    yield _suspect_panel(rows, project, caller)


def _harmful_panel(rows: EntryQuerySet) -> Panel:
    return Panel(
        "Most harmful entries",
        ["Entry", "Rule", VOTES],
        list(_vote_rows(rows.filter(harmful__gt=0).order_by("-harmful", "-pk"))),
        empty="No task has reported that an entry did harm.",
    )


def _contested_panel(rows: EntryQuerySet, caller: Caller) -> Panel:
    entries = rows.filter(freshness.in_doubt()).order_by(
        (F("helpful") + F("harmful")).desc(), "-pk"
    )
    return Panel(
        "Most contested entries",
        ["Entry", "Rule", VOTES],
        list(_vote_rows(entries)),
        empty="No entry is contested: none did harm as often as it helped, "
        "and no evidence speaks against one.",
    )


def _suspect_panel(rows: EntryQuerySet, project: Project, caller: Caller) -> Panel:
    changed_files = freshness.suspect_files(project, caller)
    suspects = rows.filter(pk__in=changed_files).order_by("-updated_at")[:MAX_LISTED]
    return Panel(
        "Suspect entries: a file changed since",
        ["Entry", "Rule", "Changed files", "Confirmed"],
        [
            [
                *_entry_cells(entry),
                short_text(", ".join(changed_files[entry.pk])),
                format_time(entry.verified_at or entry.updated_at),
            ]
            for entry in suspects
        ],
        note=list_urls.link(
            list_urls.admin_list(ENTRY, project, status="active", freshness="suspect"),
            "All suspect entries",
        )
        if len(changed_files) > MAX_LISTED
        else "",
        empty="No entry depends on a file that changed since.",
    )


def _vote_rows(rows: Any) -> Iterable[list[Any]]:
    for entry in rows[:MAX_LISTED]:
        yield [*_entry_cells(entry), f"{entry.helpful:,} / {entry.harmful:,}"]


def _entry_cells(entry: PlaybookEntry) -> list[SafeString]:
    return [
        row_link(ENTRY, entry.pk, entry.label, panels.SHORT_LIMIT),
        short_text(entry.content),
    ]
