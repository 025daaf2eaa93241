"""Find the live rule of the playbook that states a cure, and the repairs that it vouches for."""

from __future__ import annotations

import re

from ace.fixes.choice import ChosenCure
from ace.models import ObservedRepair
from common.caller import Caller
from playbook.models import PlaybookDelta, PlaybookEntry
from playbook.proposals.proposed_change import WRITES_TEXT
from playbook.reading import entry_list
from projects.models import Project

Status = PlaybookDelta.DeltaStatus
_REVIEWED = (Status.ACCEPTED, Status.EDITED)


def find(
    project: Project, cure: ChosenCure, caller: Caller
) -> tuple[PlaybookEntry | None, list[ObservedRepair]]:
    """Return a live rule that states the cure, and those of its repairs that are trusted.

    A rule in doubt does not count.
    """
    deltas = (
        PlaybookDelta.objects.visible_to(caller)
        .filter(
            project=project,
            operation__in=WRITES_TEXT,  # a vote or a removal does not speak of its words
            run_id__in={row.run_id for row in cure.repairs},
            status__in=PlaybookDelta.IN_FORCE,
            entry__status=PlaybookEntry.EntryStatus.ACTIVE,
        )
        .with_entry()
    )
    pairs = [
        (d, row)
        for d in deltas
        for row in cure.repairs
        if d.entry and is_about(d, d.entry.content, row)
    ]
    contested = entry_list.contested_ids(project) if pairs else set()
    for delta, _ in pairs:
        entry = delta.entry
        if entry and entry.pk not in contested:
            of_entry = [(d, row) for d, row in pairs if d.entry_id == entry.pk]
            return entry, [row for d, row in of_entry if _is_trusted(d, row)]
    return None, []


def is_about(delta: PlaybookDelta, content: str, row: ObservedRepair) -> bool:
    """Return whether a rule came of a repair: it quotes both calls and states the cure.

    `content` is the rule's text, as it is or as the delta would make it.
    """
    if delta.run_id != row.run_id:
        return False
    quotes = [quote for quote in delta.evidence if isinstance(quote, dict)]
    fields = [str(quote.get("field", "")) for quote in quotes]
    calls = (row.seen["failed_call"], row.seen["fixed_call"])
    quotes_both = all(
        any(field.startswith(f"tool_usage.{call}.") for field in fields)
        for call in calls
    )
    return quotes_both and _states(content, row)


def _states(content: str, row: ObservedRepair) -> bool:
    """Return whether a text has the words of a cure; the value of an option may differ.

    They are what was added, or else what was left out. An edit is its new code.
    """
    words = row.seen["added"] or _left_out(row) or [row.seen["worked"]]
    return all(_stands_in(_name(word), content) for word in words)


def _left_out(row: ObservedRepair) -> list[str]:
    """Return what a repair left out: options without their values, or else all words."""
    removed: list[str] = row.seen["removed"]
    return [word for word in removed if word.startswith("-")] or removed


def _name(word: str) -> str:
    return word.partition("=")[0] if word.startswith("-") else word


def _stands_in(word: str, text: str) -> bool:
    return bool(re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text))


def _is_trusted(delta: PlaybookDelta, row: ObservedRepair) -> bool:
    """Return whether the words of a repair are given to everybody.

    A person read them, or a key that may attest reported them. What leads to another
    package, remote, host or index needs a person.
    """
    if delta.status in _REVIEWED:
        return True
    return row.run.is_attested and not row.seen["leads_elsewhere"]
