"""Summarise a week of a playbook: its new, changed, refuted and contested entries."""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count

from common.caller import Caller
from console import week_figures
from console.week_figures import NO_FIGURES, WeekFigures
from console.weeks import Week
from memories.models import GivenUse, MemoryExposure
from playbook.models import (
    Exposure,
    PlaybookChange,
    PlaybookDelta,
    PlaybookEntry,
)
from projects.models import Project

MAX_CHANGES = 300  # only the newest changes of a week are summarised
Kind = str
NEW, CHANGED, REFUTED = "new", "changed", "refuted"


@dataclass(frozen=True)
class WeekLesson:
    """An entry, and what happened to the entry in the week."""

    entry_id: uuid.UUID
    label: str
    text: str
    actions: str = ""
    memories: int = 0
    quotes: int = 0
    decided_by: str = ""
    why: str = ""
    harmful: int = 0

    @property
    def evidence(self) -> str:
        counts = [
            (self.memories, "memory", "memories"),
            (self.quotes, "quote", "quotes"),
        ]
        parts = [f"{n:,} {one if n == 1 else many}" for n, one, many in counts if n]
        return ", ".join(parts) or "none"


@dataclass(frozen=True)
class WeekSummary:
    week: Week
    lessons: Mapping[Kind, Sequence[WeekLesson]]
    contested: Sequence[WeekLesson] = ()
    given: Mapping[str, int] = field(default_factory=dict)
    figures: WeekFigures = NO_FIGURES
    given_memories: Mapping[str, int] = field(default_factory=dict)
    is_cut: bool = False

    @property
    def counts(self) -> dict[str, int]:
        return {
            **{kind: len(found) for kind, found in self.lessons.items()},
            "contested": len(self.contested),
        }

    @property
    def is_empty(self) -> bool:
        is_unused = not self.uses and self.figures.is_empty
        return is_unused and not any(self.counts.values())

    @property
    def uses(self) -> list[str]:
        """Sentences about what agents were given; none if they were given nothing."""
        texts = (
            describe_use("rule", self.given),
            describe_use("memory", self.given_memories),
        )
        return list(filter(None, texts))

    @property
    def sentences(self) -> list[str]:
        """Say what the week brought, one kind after the other."""
        return [*self.figures.sentences, *self.uses]


def describe_use(what: str, given: Mapping[str, int]) -> str:
    """Say how often agents were given a rule or a memory, and how often one was used.

    Of the others it is not known whether they concerned the task.
    """
    total = sum(given.values())
    if not total:
        return ""
    ways = {use: given.get(use.value, 0) for use in GivenUse}
    named = [f"{n:,} because {use.label}" for use, n in ways.items() if n]
    times = "once" if total == 1 else f"{total:,} times"
    verb = "was" if sum(ways.values()) == 1 else "were"
    used = f"{sum(ways.values()):,} {verb} used: {'; '.join(named)}" if named else ""
    return f"Agents were given a {what} {times}; {used or 'none is known to be used'}."


def summarise(project: Project, week: Week, caller: Caller) -> WeekSummary:
    changes = _changes(project, week, caller)
    rules = list(changes.without_use().exclude(action="verify")[: MAX_CHANGES + 1])
    votes = _harmful_votes(changes)
    entries = _entries({c.entry_id for c in rules} | set(votes), caller)
    deltas = _deltas(rules, caller)
    by_entry: dict[uuid.UUID, list[PlaybookChange]] = defaultdict(list)
    for change in rules[:MAX_CHANGES]:
        by_entry[change.entry_id].append(change)
    lessons: dict[Kind, list[WeekLesson]] = {NEW: [], CHANGED: [], REFUTED: []}
    for entry_id, changes_of_entry in by_entry.items():
        lesson = _lesson(changes_of_entry, entries.get(entry_id), deltas)
        lessons[_kind_of(changes_of_entry)].append(lesson)
    return WeekSummary(
        week,
        lessons,
        figures=week_figures.count(project, week, caller),
        contested=_contested_lessons(votes, entries),
        given=_count_uses(Exposure, project, week, caller),
        given_memories=_count_uses(MemoryExposure, project, week, caller),
        is_cut=len(rules) > MAX_CHANGES,
    )


def _count_uses(
    model: type[Exposure | MemoryExposure], project: Project, week: Week, caller: Caller
) -> dict[str, int]:
    """Count what agents were given in the week, by how they used it."""
    rows = model.objects.visible_to(caller).filter(
        project=project, at__gte=week.start, at__lt=week.end
    )
    counts = rows.order_by().values_list("used_as").annotate(n=Count("pk"))
    return dict(counts)


def _changes(project: Project, week: Week, caller: Caller) -> Any:
    return PlaybookChange.objects.visible_to(caller).filter(
        project_id=project.pk, changed_at__gte=week.start, changed_at__lt=week.end
    )


def _harmful_votes(changes: Any) -> Counter[uuid.UUID]:
    """Count the harmful votes of each entry. The entry with the most votes is first."""
    rows = (
        changes.filter(action="vote", after__has_key="harmful")
        .order_by()
        .values_list("entry_id")
        .annotate(n=Count("pk"))
        .order_by("-n", "entry_id")
    )
    return Counter(dict(rows[:MAX_CHANGES]))


def _entries(
    wanted: Iterable[uuid.UUID], caller: Caller
) -> Mapping[uuid.UUID, PlaybookEntry]:
    rows = PlaybookEntry.objects.visible_to(caller).light()
    found: Mapping[uuid.UUID, PlaybookEntry] = rows.annotate(
        memories=Count("supports")
    ).in_bulk(list(wanted))
    return found


def _deltas(
    changes: Iterable[PlaybookChange], caller: Caller
) -> Mapping[uuid.UUID, PlaybookDelta]:
    rows = PlaybookDelta.objects.visible_to(caller).defer("payload", "gates")
    wanted = {change.delta_id for change in changes if change.delta_id}
    found: Mapping[uuid.UUID, PlaybookDelta] = rows.in_bulk(list(wanted))
    return found


def _kind_of(changes: Sequence[PlaybookChange]) -> Kind:
    """Return the kind of an entry's changes. The changes must be sorted newest first."""
    if changes[0].operation == PlaybookChange.ChangeOperation.DELETE:
        return REFUTED
    is_new = any(c.operation == PlaybookChange.ChangeOperation.ADD for c in changes)
    return NEW if is_new else CHANGED


def _lesson(
    changes: Sequence[PlaybookChange],
    entry: PlaybookEntry | None,
    deltas: Mapping[uuid.UUID, PlaybookDelta],
) -> WeekLesson:
    """Describe an entry as it was at the end of the week; the newest change says why."""
    last = changes[0]
    # A decision that was undone and made again is one.
    own_ids = dict.fromkeys(c.delta_id for c in changes if c.delta_id in deltas)
    own_deltas = [deltas[pk] for pk in own_ids if pk]
    text = next((c.after["content"] for c in changes if c.after.get("content")), "")
    return WeekLesson(
        entry_id=last.entry_id,
        label=last.entry_label,
        text=str(text or (entry.content if entry else "")),
        actions=", ".join(dict.fromkeys(c.action for c in reversed(changes))),
        memories=getattr(entry, "memories", 0),
        quotes=sum(len(delta.evidence) for delta in own_deltas),
        decided_by=_decider_of(changes, deltas),
        why=last.reason,
    )


def _decider_of(
    changes: Sequence[PlaybookChange], deltas: Mapping[uuid.UUID, PlaybookDelta]
) -> str:
    """Name who accepted what is in force, or who undid it; or say that the policy decided."""
    last = changes[0]
    delta = deltas.get(last.delta_id) if last.delta_id else None
    if delta is None or delta.status not in PlaybookDelta.IN_FORCE:
        return last.actor
    if delta.producer == PlaybookDelta.Producer.HUMAN:
        return next(c.actor for c in reversed(changes) if c.delta_id == delta.pk)
    return delta.reviewer or f"the policy, as a {delta.producer} proposed"


def _contested_lessons(
    votes: Counter[uuid.UUID], entries: Mapping[uuid.UUID, PlaybookEntry]
) -> list[WeekLesson]:
    return [
        WeekLesson(
            entry_id=entry_id,
            label=entries[entry_id].label,
            text=entries[entry_id].content,
            memories=getattr(entries[entry_id], "memories", 0),
            harmful=count,
        )
        for entry_id, count in votes.most_common()
        if entry_id in entries
    ]
