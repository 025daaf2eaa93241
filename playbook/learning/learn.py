"""Learn from a finished task: count its votes, propose its lessons, retire refuted entries.

The module uses rules only and no language model. The module knows only those facts
about a run that `TaskRun` holds.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from common.caller import Caller
from common.text import plain_text as texts
from memories.models import Memory
from playbook.history import votes
from playbook.history.revision import Cause
from playbook.history.votes import Vote
from playbook.learning import doubt, model_placement
from playbook.learning.doubt import DoubtKind
from playbook.learning.model_placement import Placement
from playbook.models import PlaybookChange, PlaybookDelta, PlaybookEntry
from playbook.proposals import proposed_change, submission
from playbook.proposals.proposed_change import (
    FeedbackSource,
    Operation,
    Producer,
    Proposal,
    Quote,
)
from playbook.queries import TRUSTED_SOURCES
from projects.models import Project

NAME, VERSION = "curator", "1"
# Who reported a task, as the first words of a sentence for the reviewer.
TELLERS = {
    "agent": "The agent itself",
    "human": "A person",
    "test": "A test",
    "environment": "What the calls did",
}


@dataclass(frozen=True)
class Lesson:
    """A rule that a task teaches, with the quotes that support it.

    `repair_key`, `supply` and `foreign` are those of a Proposal.
    """

    content: str
    category: str
    condition: str = ""
    action: str = ""
    root_cause: str = ""
    signature: str = ""
    evidence: tuple[Quote, ...] = ()
    confidence: float = 0.0
    tags: tuple[str, ...] = ()
    reason: str = ""
    producer: str = Producer.RULE
    producer_name: str = "reflector"
    producer_version: str = VERSION
    placement: Placement | None = None
    repair_key: str = ""
    supply: str = ""
    foreign: str = ""
    applies_to: tuple[str, ...] = ()


@dataclass(frozen=True)
class TaskRun:
    """The task behind the lessons.

    `sources` maps each field of the task to the text from which quotes are cut.
    """

    id: uuid.UUID
    memory: Memory | None
    outcome: str
    feedback_source: FeedbackSource = "agent"
    agent_id: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_trusted(self) -> bool:
        """Whether the outcome rests on more than the agent's own word."""
        return self.feedback_source in TRUSTED_SOURCES


@dataclass(frozen=True)
class LearningOutcome:
    """The deltas and changes of the run in order, and the entries that were changed."""

    deltas: list[PlaybookDelta]
    changes: list[PlaybookChange]
    updated_entries: list[PlaybookEntry]


def learn_from_task(
    project: Project,
    lessons: Sequence[Lesson],
    cast_votes: Sequence[Vote],
    supported_entries: Iterable[uuid.UUID] = (),
    *,
    run: TaskRun,
    caller: Caller,
) -> LearningOutcome:
    """Count votes and supports, propose lessons, and retire entries that votes refute.

    A repeated call for the same run changes nothing more and returns the same result.
    """
    cause = Cause(
        reason="The run shows how the entry served.",
        run_id=run.id,
        memory_id=run.memory.pk if run.memory else None,
        agent_id=run.agent_id,
    )
    votes.record(
        project,
        cast_votes,
        supported_entries,
        cause,
        caller,
        is_believed=run.is_trusted or caller.attests_in(project.pk),
    )
    _propose_lessons(project, lessons, run, caller)
    _refute(project, run, caller)
    deltas = PlaybookDelta.objects.filter(project=project, run_id=run.id)
    changes = PlaybookChange.objects.filter(project_id=project.pk, run_id=run.id)
    changed_entries = PlaybookEntry.objects.light().filter(
        pk__in=changes.order_by().values("entry_id")
    )
    return LearningOutcome(
        deltas=list(deltas.with_entry().order_by("pk")),
        changes=list(changes.in_order()),
        updated_entries=list(changed_entries.order_by("pk")),
    )


def _propose_lessons(
    project: Project, lessons: Iterable[Lesson], run: TaskRun, caller: Caller
) -> None:
    """Propose each lesson as its placement says.

    If an update is refused, an addition is proposed instead.
    """
    additions = [(lesson, _addition(project, lesson, run)) for lesson in lessons]
    proposals = [
        (addition, proposal)
        for lesson, addition in additions
        for proposal in _proposals_for(project, lesson, addition)
    ]
    deltas = submission.propose(
        project, [proposal for _, proposal in proposals], caller
    )
    fallbacks = [
        addition
        for (addition, proposal), delta in zip(proposals, deltas, strict=True)
        if proposal.operation == Operation.UPDATE and model_placement.is_refused(delta)
    ]
    submission.propose(project, fallbacks, caller)


def _proposals_for(
    project: Project, lesson: Lesson, addition: Proposal
) -> list[Proposal]:
    if lesson.placement is None:
        return [addition]
    return model_placement.to_proposals(project, addition, lesson.placement)


def _addition(project: Project, lesson: Lesson, run: TaskRun) -> Proposal:
    """Return a proposal to add an entry.

    `proposals.placement` may turn the addition into a vote or an update.
    """
    return Proposal(
        operation=Operation.ADD,
        content=lesson.content,
        category=_category(project, lesson.category),
        condition=lesson.condition,
        action=lesson.action,
        tags=lesson.tags,
        applies_to=lesson.applies_to or None,
        reason=_reason(lesson, run),
        evidence=lesson.evidence,
        sources=run.sources,
        root_cause=lesson.root_cause,
        signature=lesson.signature,
        repair_key=lesson.repair_key,
        supply=lesson.supply,
        foreign=lesson.foreign,
        producer=lesson.producer,
        producer_name=lesson.producer_name,
        producer_version=lesson.producer_version,
        agent_id=run.agent_id,
        run_id=run.id,
        memory_id=run.memory.pk if run.memory else None,
        feedback_source=run.feedback_source,
        outcome=run.outcome,
        idempotency_key=proposed_change.lesson_key(
            run.id, lesson.producer_name, lesson.content
        ),
    )


def _category(project: Project, category: str) -> str:
    known = project.options.categories
    if category in known:
        return category
    return "general" if "general" in known else known[-1]


def _reason(lesson: Lesson, run: TaskRun) -> str:
    teller = TELLERS.get(run.feedback_source, run.feedback_source)
    return texts.clip(
        f"Learned from a task whose outcome was {run.outcome}. "
        f"{teller} reported it. {lesson.reason}".rstrip(),
        1000,
    )


def _refute(project: Project, run: TaskRun, caller: Caller) -> None:
    """Propose to retire entries that the votes refute, and doubt those that they contest.

    A person's correction puts an entry in doubt however often it has helped.
    """
    entries = _harmed_entries(project, run)
    refuted = [entry for entry in entries if votes.is_refuted(entry)]
    submission.propose(
        project, [_of_run(retirement_proposal(entry), run) for entry in refuted], caller
    )
    if not caller.attests_in(project.pk):
        return
    is_corrected = run.feedback_source == "human"
    doubted = [
        _of_run(_doubt(entry, run), run)
        for entry in entries
        if entry not in refuted and (is_corrected or entry.is_doubted)
    ]
    kind = DoubtKind.CORRECTION if is_corrected else DoubtKind.VOTES
    doubt.raise_doubts(project, kind, doubted, caller)


def _doubt(entry: PlaybookEntry, run: TaskRun) -> Proposal:
    return doubt.retirement(
        entry,
        reason=f"A task that cited {entry.label} failed, told by {run.feedback_source}, on "
        f"what the entry is about; it was harmful {entry.harmful} times and helpful "
        f"{entry.helpful} times.",
        evidence=str(run.id),
    )


def _harmed_entries(project: Project, run: TaskRun) -> list[PlaybookEntry]:
    """Return the live entries that a vote of this run calls harmful."""
    harmful_votes = PlaybookChange.objects.filter(
        project_id=project.pk, run_id=run.id, action="vote", after__has_key="harmful"
    )
    entries = PlaybookEntry.objects.current().light()
    harmed = entries.filter(pk__in=harmful_votes.order_by().values("entry_id"))
    return list(harmed.order_by("pk"))


def _of_run(proposal: Proposal, run: TaskRun) -> Proposal:
    return replace(
        proposal,
        agent_id=run.agent_id,
        run_id=run.id,
        memory_id=run.memory.pk if run.memory else None,
        feedback_source=run.feedback_source,
        outcome=run.outcome,
    )


def retirement_proposal(entry: PlaybookEntry) -> Proposal:
    """Return a proposal to retire an entry because votes refute the entry."""
    return Proposal(
        operation=Operation.DEPRECATE,
        entry=entry,
        expected_version=entry.version,
        reason=f"{entry.label} was harmful {entry.harmful} times and helpful "
        f"{entry.helpful} times in {entry.uses} uses.",
        producer=Producer.RULE,
        producer_name=NAME,
        producer_version=VERSION,
        idempotency_key=_retirement_key(entry),
    )


def _retirement_key(entry: PlaybookEntry) -> str:
    """Return a key for this version of the text, so that a rejected proposal does not return."""
    whole = f"{entry.pk}\n{Operation.DEPRECATE}\n{entry.version}"
    return hashlib.sha256(whole.encode()).hexdigest()
