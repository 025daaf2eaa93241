"""Entries that want a look: harmful, contested, suspect and due ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Greatest
from django.utils.safestring import SafeString

from common.admin import panels
from common.admin.panels import Panel, format_time, row_link, short_text
from common.caller import Caller
from console import list_urls
from playbook.entries import freshness
from playbook.models import Conflict, PlaybookEntry
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
        empty="No task has said that an entry did harm.",
    )


def _contested_panel(rows: EntryQuerySet, caller: Caller) -> Panel:
    found = filter_contested(rows, caller).order_by(
        (F("helpful") + F("harmful")).desc(), "-pk"
    )
    return Panel(
        "Most contested entries",
        ["Entry", "Rule", VOTES],
        list(_vote_rows(found)),
        empty="No entry is contested: none did harm as often as it helped, "
        "and none is in an open conflict.",
    )


def filter_contested(rows: EntryQuerySet, caller: Caller) -> EntryQuerySet:
    """Those that `PlaybookEntry.is_contested` says so of."""
    disputes = Conflict.objects.visible_to(caller).unresolved()
    disputes = disputes.filter(Q(left=OuterRef("pk")) | Q(right=OuterRef("pk")))
    doubted = Q(harmful__gte=Greatest(F("helpful"), 1))
    return rows.filter(doubted | Q(Exists(disputes)))


def _suspect_panel(rows: EntryQuerySet, project: Project, caller: Caller) -> Panel:
    changed = freshness.suspect_files(project, caller)
    found = rows.filter(pk__in=changed).order_by("-updated_at")[:MAX_LISTED]
    return Panel(
        "Entries in doubt since a file changed",
        ["Entry", "Rule", "Changed files", "Confirmed"],
        [
            [
                *_entry_cells(entry),
                short_text(", ".join(changed[entry.pk])),
                format_time(entry.verified_at or entry.updated_at),
            ]
            for entry in found
        ],
        note=list_urls.link(
            list_urls.admin_list(ENTRY, project, status="active", freshness="suspect"),
            "All entries in doubt",
        )
        if len(changed) > MAX_LISTED
        else "",
        empty="No entry stands on a file that changed since.",
    )


def _vote_rows(rows: Any) -> Iterable[list[Any]]:
    for entry in rows[:MAX_LISTED]:
        yield [*_entry_cells(entry), f"{entry.helpful:,} / {entry.harmful:,}"]


def _entry_cells(entry: PlaybookEntry) -> list[SafeString]:
    return [
        row_link(ENTRY, entry.pk, entry.label, panels.SHORT_LIMIT),
        short_text(entry.content),
    ]
