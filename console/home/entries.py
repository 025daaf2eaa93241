"""Entries that want a look: harmful, contested, suspect and due ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Greatest
from django.utils.safestring import SafeString

from common import panels
from common.caller import Caller
from common.panels import Panel, link, moment, words
from console import lists
from playbook import freshness
from playbook.models import Conflict, PlaybookEntry
from playbook.queries import EntryQuerySet
from projects.models import Project

ENTRY = "playbook_playbookentry"
MOST = 5
VOTES = "Helpful / harmful"


def of(project: Project, caller: Caller) -> Iterable[Panel]:
    rows: EntryQuerySet = (
        PlaybookEntry.objects.visible_to(caller)
        .current()
        .light()
        .filter(project=project)
    )
    yield _harmful(rows)
    yield _contested(rows, caller)
    yield _unconfirmed(rows, project, caller)


def _harmful(rows: EntryQuerySet) -> Panel:
    return Panel(
        "Most harmful entries",
        ["Entry", "Rule", VOTES],
        list(_lines(rows.filter(harmful__gt=0).order_by("-harmful", "-pk"))),
        empty="No task has said that an entry did harm.",
    )


def _contested(rows: EntryQuerySet, caller: Caller) -> Panel:
    found = contested(rows, caller).order_by(
        (F("helpful") + F("harmful")).desc(), "-pk"
    )
    return Panel(
        "Most contested entries",
        ["Entry", "Rule", VOTES],
        list(_lines(found)),
        empty="No entry is contested: none did harm as often as it helped, "
        "and none is in an open conflict.",
    )


def contested(rows: EntryQuerySet, caller: Caller) -> EntryQuerySet:
    """Those that `PlaybookEntry.is_contested` says so of."""
    disputes = Conflict.objects.visible_to(caller).undecided()
    disputes = disputes.filter(Q(left=OuterRef("pk")) | Q(right=OuterRef("pk")))
    doubted = Q(harmful__gte=Greatest(F("helpful"), 1))
    return rows.filter(doubted | Q(Exists(disputes)))


def _unconfirmed(rows: EntryQuerySet, project: Project, caller: Caller) -> Panel:
    changed = freshness.suspects(project, caller)
    found = rows.filter(pk__in=changed).order_by("-updated_at")[:MOST]
    return Panel(
        "Entries in doubt since a file changed",
        ["Entry", "Rule", "Changed files", "Confirmed"],
        [
            [
                *_named(entry),
                words(", ".join(changed[entry.pk])),
                moment(entry.verified_at or entry.updated_at),
            ]
            for entry in found
        ],
        note=lists.link(
            lists.of(ENTRY, project, status="active", freshness="suspect"),
            "All entries in doubt",
        )
        if len(changed) > MOST
        else "",
        empty="No entry stands on a file that changed since.",
    )


def _lines(rows: Any) -> Iterable[list[Any]]:
    for entry in rows[:MOST]:
        yield [*_named(entry), f"{entry.helpful:,} / {entry.harmful:,}"]


def _named(entry: PlaybookEntry) -> list[SafeString]:
    return [link(ENTRY, entry.pk, entry.label, panels.SHORT), words(entry.content)]
