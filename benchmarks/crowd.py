"""Fill a project beforehand, so that what is measured is measured in a full one."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from benchmarks import scratch
from benchmarks.finer import Question, Questions
from benchmarks.progress import Bar
from common import focus
from common.caller import SYSTEM
from memories import vectors, writing
from memories.drafts import Draft
from playbook import proposals
from playbook.drafts import Operation, Producer, Proposal
from playbook.indexing import CORPUS
from playbook.models import PlaybookEntry
from projects.models import Project
from search import statistics

BATCH = 100  # rows written in one transaction
SHORT = 12  # words of a question in an entry: a thousand fit into the default budget


def memories(project: Project, questions: Questions, count: int) -> None:
    """Store so many memories, each of another text, and embed them."""
    bar = Bar("crowd: memories", count)
    turn = itertools.cycle([*questions.learned, *questions.tested])
    for start in range(0, count, BATCH):
        size = min(BATCH, count - start)
        drafts = [
            Draft(
                content=f"{question.sentence} (report {start + place})",
                memory_type="learning",
                agent_id="benchmark",
                source="import",
            )
            for place, question in enumerate(itertools.islice(turn, size))
        ]
        writing.commit(writing.prepare(project, drafts, SYSTEM))
        bar.show(start + size)
    if count:
        waiting = vectors.waiting(project.pk).count()
        scratch.embed(project, Bar("crowd: vectors", waiting).show)
        scratch.settle(project)


def entries(project: Project, questions: Questions, count: int) -> None:
    """Let a person write so many entries."""
    rules(project, sorted({_line(question) for question in questions.learned})[:count])


def rules(project: Project, texts: Sequence[str]) -> None:
    """Let a person write these entries, each of another text."""
    bar = Bar("crowd: entries", len(texts))
    for start in range(0, len(texts), BATCH):
        batch = [_written(text) for text in texts[start : start + BATCH]]
        proposals.propose(project, batch, SYSTEM)
        bar.show(start + len(batch))
    if texts:
        rows = PlaybookEntry.objects.current()
        statistics.rebuild(rows, project_id=project.pk, name=CORPUS)


def _line(question: Question) -> str:
    asked = focus.of(question.goal)
    words = (asked.words if asked else question.sentence).split()
    return f"When asked {' '.join(words[:SHORT])}, answer `{question.tag}`."


def _written(text: str) -> Proposal:
    return Proposal(
        operation=Operation.ADD,
        content=text,
        category="general",
        producer=Producer.HUMAN,
    )
