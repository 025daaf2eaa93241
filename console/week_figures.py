"""Count what a week brought: lessons and memories.

Home and the weekly page say the same figures.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Q

from common.admin.paginator import count_bounded, format_count
from common.caller import Caller
from common.ids import lowest_id_at
from console.weeks import Week
from memories.models import Memory
from playbook.history.operations import WRITES_TEXT
from playbook.models import PlaybookDelta, PlaybookEntry
from projects.models import Project

Status = PlaybookDelta.DeltaStatus


@dataclass(frozen=True)
class WeekFigures:
    """The lessons that tasks of the week taught, by what became of them so far.

    `memories` counts those that were stored and are not deleted, and stops after 10,001.
    """

    live: int = 0
    waiting: int = 0
    others: int = 0
    memories: int = 0

    @property
    def lessons(self) -> int:
        return self.live + self.waiting + self.others

    @property
    def is_empty(self) -> bool:
        return not (self.lessons or self.memories)

    @property
    def lesson_sentence(self) -> str:
        """Return a sentence without its first words and point, such as "1 lesson was …"."""
        if not self.lessons:
            return "no lesson was learned from a task"
        ways = {
            "live as a rule": self.live,
            "waiting for a person": self.waiting,
            "rejected, undone or retired": self.others,
        }
        named = ", ".join(f"{count:,} {way}" for way, count in ways.items() if count)
        noun = "lesson was" if self.lessons == 1 else "lessons were"
        return f"{self.lessons:,} {noun} learned from tasks: {named}"

    @property
    def memory_sentence(self) -> str:
        noun = "memory was" if self.memories == 1 else "memories were"
        count = format_count(self.memories) if self.memories else "no"
        return f"{count} {noun} stored"

    @property
    def headline(self) -> str:
        return f"This week {self.lesson_sentence}, and {self.memory_sentence}."

    @property
    def sentences(self) -> list[str]:
        said = [self.lesson_sentence, self.memory_sentence]
        return [f"{each[:1].upper()}{each[1:]}." for each in said]


NO_FIGURES = WeekFigures()


def count(project: Project, week: Week, caller: Caller) -> WeekFigures:
    live, waiting, others = _count_lessons(project, week, caller)
    memories = Memory.objects.visible_to(caller).filter(
        project=project,
        pk__gte=lowest_id_at(week.start),
        created_at__gte=week.start,
        created_at__lt=week.end,
        deleted_at=None,
    )
    return WeekFigures(live, waiting, others, memories=count_bounded(memories))


def _count_lessons(
    project: Project, week: Week, caller: Caller
) -> tuple[int, int, int]:
    """Count what tasks proposed to write; what a gate refused is no lesson."""
    proposed = (
        PlaybookDelta.objects.visible_to(caller)
        .filter(
            project=project,
            operation__in=WRITES_TEXT,
            pk__gte=lowest_id_at(week.start),
            created_at__gte=week.start,
            created_at__lt=week.end,
        )
        .exclude(run_id=None)
        .exclude(status=Status.REJECTED, reviewer="")
    )
    is_live = Q(
        status__in=PlaybookDelta.IN_FORCE,
        entry__status=PlaybookEntry.EntryStatus.ACTIVE,
    )
    counts = proposed.aggregate(
        live=Count("pk", filter=is_live),
        waiting=Count("pk", filter=Q(status__in=(Status.PENDING, Status.STALE))),
        all=Count("pk"),
    )
    live, waiting = counts["live"], counts["waiting"]
    return live, waiting, counts["all"] - live - waiting
