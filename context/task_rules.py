"""Choose the rules for a task: by tool and path, by relevance, and those of every task."""

from __future__ import annotations

import uuid
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Literal

from django.db.models import Q

from common.caller import Caller
from playbook.models import Playbook, PlaybookEntry
from playbook.queries import EntryQuerySet
from playbook.reading import entry_list, relevance
from playbook.reading.relevance import Relevance, Relevances
from playbook.rule_text.applicability import ALWAYS, Surroundings
from projects.models import Project

# `relevant` rules are about the task, and `process` rules are about every task of the
# project. `other` rules are about the task's language, or the whole playbook is small.
Section = Literal["relevant", "process", "other"]
SECTIONS: tuple[Section, ...] = ("relevant", "process", "other")
NOT_MEASURED = Relevance(0.0, is_relevant=False)


@dataclass(frozen=True)
class RelevantRule:
    """A playbook entry for a task.

    `score` is the cosine similarity of the entry to the task.
    """

    entry: PlaybookEntry
    score: float
    reason: str
    section: Section = "relevant"


@dataclass(frozen=True)
class RelevantRules:
    """The rules for a task by section, and the number of rules that are left out."""

    rules: list[RelevantRule]
    below_gate: int
    notes: tuple[str, ...] = ()


def choose(
    project: Project,
    description: str,
    caller: Caller,
    *,
    limit: int,
    tokens: int,
    around: Surroundings,
) -> RelevantRules:
    """Return the whole playbook if it has at most `tokens`, and else what the task needs.

    Of a larger playbook these are at most `limit` relevant rules, the pinned rules, those
    that apply always, and at most `limit` rules about the task's language.
    """
    rows = entry_list.find(project, entry_list.EntryFilters(), caller)
    near = relevance.measure(project, rows, description, around)
    is_whole = _is_small(project, tokens)
    process = rows.filter(Q(pinned=True) | Q(applies_to__contains=[ALWAYS]))
    always: dict[uuid.UUID, Section] = dict.fromkeys(
        _by_similarity(process, near), "process"
    )
    relevant = [pk for pk in _relevant_ids(near) if pk not in always]
    wanted: dict[uuid.UUID, Section] = dict.fromkeys(
        relevant if is_whole else relevant[:limit], "relevant"
    )
    wanted |= always
    if is_whole:
        others = _by_similarity(relevance.without_answers(rows), near)
    else:
        others = _of_language(near, besides=wanted)[:limit]
    for pk in others:
        wanted.setdefault(pk, "other")
    return _load(rows, wanted, near, caller)


def _is_small(project: Project, tokens: int) -> bool:
    sizes = Playbook.objects.filter(project=project).values_list("tokens", flat=True)
    return (sizes.first() or 0) <= tokens


def _relevant_ids(near: Relevances) -> list[uuid.UUID]:
    """Return the relevant entries: those about a tool or file of the task come first."""
    found = [pk for pk, one in near.by_id.items() if one.is_relevant]
    return sorted(
        found,
        key=lambda pk: (not near.by_id[pk].match, -near.by_id[pk].lead, -pk.int),
    )


def _by_similarity(rows: EntryQuerySet, near: Relevances) -> list[uuid.UUID]:
    ids = rows.order_by("-pk").values_list("pk", flat=True)
    return sorted(ids, key=lambda pk: -near.by_id.get(pk, NOT_MEASURED).similarity)


def _of_language(near: Relevances, besides: Container[uuid.UUID]) -> list[uuid.UUID]:
    """Return the other entries about the task's language, the nearest to the task first."""
    found = [pk for pk, one in near.by_id.items() if one.language and pk not in besides]
    return sorted(found, key=lambda pk: (-near.by_id[pk].similarity, -pk.int))


def _load(
    rows: EntryQuerySet,
    wanted: dict[uuid.UUID, Section],
    near: Relevances,
    caller: Caller,
) -> RelevantRules:
    entries = entry_list.with_details(rows, caller).in_bulk(wanted) if wanted else {}
    rules = [
        _rule(entries[pk], near.by_id.get(pk, NOT_MEASURED), section)
        for pk, section in wanted.items()
        if pk in entries
    ]
    left_out = len(near.by_id.keys() - wanted.keys())
    return RelevantRules(rules, left_out, near.notes)


def _rule(entry: PlaybookEntry, measured: Relevance, section: Section) -> RelevantRule:
    return RelevantRule(
        entry, measured.similarity, _why(entry, measured, section), section
    )


def _why(entry: PlaybookEntry, measured: Relevance, section: Section) -> str:
    if section == "process":
        return "pinned" if entry.pinned else "applies always"
    if section == "other" and measured.language:
        return f"the task is about {measured.language}"
    if section == "other":
        return "the whole playbook has room"
    why = measured.match or "speaks of the task"
    return f"{why}, helpful {entry.helpful} times, harmful {entry.harmful}"


def texts_of(rules: Sequence[RelevantRule]) -> list[str]:
    return [rule.entry.content for rule in rules]
