"""Read what people decided about the lessons that repairs taught."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ace.fixes import live_rule
from ace.models import ObservedRepair
from common.caller import Caller
from playbook.models import PlaybookDelta, PlaybookEntry
from playbook.queries import STATES_LESSON, DeltaQuerySet
from projects.models import Project


@dataclass(frozen=True)
class CureLesson:
    """A lesson that a repair taught: the hash of its text, and its rule if that is live."""

    repair_id: uuid.UUID
    text_hash: str
    rule_id: uuid.UUID | None
    is_withdrawn: bool


@dataclass(frozen=True)
class CureDecisions:
    """The lessons that repairs taught, and what people decided about each."""

    lessons: Sequence[CureLesson]

    def of(self, repairs: Iterable[ObservedRepair]) -> CureDecisions:
        ids = {row.pk for row in repairs}
        return CureDecisions([one for one in self.lessons if one.repair_id in ids])

    @property
    def rules(self) -> frozenset[uuid.UUID]:
        """The live rules that state the cure."""
        return frozenset(one.rule_id for one in self.lessons if one.rule_id)

    @property
    def text_hashes(self) -> frozenset[str]:
        return frozenset(one.text_hash for one in self.lessons)

    @property
    def are_against(self) -> bool:
        """Whether a lesson was withdrawn, and none is a live rule."""
        return not self.rules and any(one.is_withdrawn for one in self.lessons)


NO_DECISIONS = CureDecisions(())
_COLUMNS = (
    *("run_id", "status", "content", "similarity_hash", "evidence"),
    *("entry__status", "entry__content"),
)


def read(
    project: Project, repairs: Iterable[ObservedRepair], caller: Caller
) -> CureDecisions:
    """Return the lessons that the runs of these repairs proposed, in two queries."""
    by_run: dict[uuid.UUID, list[ObservedRepair]] = {}
    for row in repairs:
        by_run.setdefault(row.run_id, []).append(row)
    if not by_run:
        return NO_DECISIONS
    visible: DeltaQuerySet = PlaybookDelta.objects.visible_to(caller)
    deltas = visible.filter(
        project=project, run_id__in=by_run, operation__in=STATES_LESSON
    )
    withdrawn = set(deltas.of_withdrawn_lessons().values_list("pk", flat=True))
    return CureDecisions(
        [
            CureLesson(
                row.pk, delta.similarity_hash, _live_rule(delta), delta.pk in withdrawn
            )
            for delta in deltas.select_related("entry").only(*_COLUMNS)
            for row in by_run[delta.run_id]
            if live_rule.is_about(delta, _words(delta), row)
        ]
    )


def _words(delta: PlaybookDelta) -> str:
    """Return the words of a lesson: once it is in force, those of its rule."""
    if delta.entry and delta.status in PlaybookDelta.IN_FORCE:
        return delta.entry.content
    return delta.content


def _live_rule(delta: PlaybookDelta) -> uuid.UUID | None:
    is_live = (
        delta.status in PlaybookDelta.IN_FORCE
        and delta.entry is not None
        and delta.entry.status == PlaybookEntry.EntryStatus.ACTIVE
    )
    return delta.entry_id if is_live else None
