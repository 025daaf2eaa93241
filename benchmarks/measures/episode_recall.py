"""Measure whether the episode that holds a repair is given when the failure comes back.

Recorded sessions are replayed in order of time. Each finished task becomes an episode by the
job that the product runs at the end of an invocation, without a language model. Before that,
each of the task's failures that had a known repair asks for memory, as an agent would: with
the prompt as the question, and the failed call with its error as the state.
"""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from django.utils import timezone

from agents.learning import invocation_job
from agents.models import AgentRun
from agents.recall.recall import read_memory
from agents.recall.sources import RecallQuery
from agents.serializers.context import MAX_QUESTION, MAX_STATE
from agents.steps import AgentStep
from agents.tiers.episodes import EPISODE
from agents.tiers.tier_search import TierQuery, find_in_scopes, scopes_of
from benchmarks.datasets.recorded_sessions import session_files
from benchmarks.datasets.session_failures.failure_class import OF_THE_PROJECT
from benchmarks.datasets.session_failures.failure_history import (
    FailureHistory,
    SessionFailure,
)
from benchmarks.datasets.session_failures.session_calls import (
    RecordedSession,
    SessionCall,
    read_sessions,
)
from benchmarks.fixtures import temp_project
from benchmarks.report.progress_bar import ProgressBar
from benchmarks.report.text_table import align_columns
from common.caller import SYSTEM
from memories.models import Memory
from projects.models import Project
from projects.options import DedupSettings

USER = "alice"
MIN_SHARE = 0.5  # of the failures whose episode must be given (the acceptance)
DEPTH = 100  # episodes of the longer list in which a missed one has its rank
SHOWN_MISSES = 10
MAX_CALL = 2_000  # characters of the arguments of a failed call
MAX_SHOWN = 300  # characters of a text of a miss
# The product's own settings, unlike those of other benchmarks.
SETTINGS = {"dedup": DedupSettings().model_dump(), "secrets": "mask"}


@dataclass(frozen=True)
class RecalledRepair:
    """A failure that came back, and the rank of the best episode that holds a repair.

    The rank is that of the longer list, from 1; None if it is not in it. `was_given` tells
    whether one of the episodes in the prompt's memory holds a repair.
    """

    session: str
    kind: str
    signatures: list[str]
    question: str
    state: str
    was_given: bool
    rank: int | None
    wanted: list[str]
    given: list[str]


def measure(data: Path, *, keep: bool) -> dict[str, Any]:
    sessions = list(read_sessions(session_files(data)))
    with temp_project.create_project(
        "episodes", keep=keep, settings=SETTINGS
    ) as project:
        replay = EpisodeReplay(project)
        bar = ProgressBar("sessions", len(sessions))
        for number, session in enumerate(bar.over(sessions)):
            replay.add_session(number, session)
    return {
        "episodes": len(set(replay.episodes.values())),
        "classes": _count(replay.answers),
        "without_episode": sum(not answer.wanted for answer in replay.answers),
        "misses": list(map(asdict, _worst(replay.answers))),
    }


class EpisodeReplay:
    """The tasks that were stored, as {(session, task): episode}, and what was recalled."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.episodes: dict[tuple[int, int], str] = {}
        self.answers: list[RecalledRepair] = []
        self._history = FailureHistory()

    def add_session(self, number: int, session: RecordedSession) -> None:
        failures = self._history.replay(number, session)
        for task in range(len(session.tasks)):
            calls = session.calls_of(task)
            for failure in failures:
                if failure.call.task == task and _comes_back(failure):
                    self.answers.append(self._ask(session, task, failure))
            if calls:
                self._store(number, session, task, calls)
        temp_project.embed_waiting(self.project, lambda done: None)
        temp_project.refresh_statistics(self.project)

    def _ask(
        self, session: RecordedSession, task: int, failure: SessionFailure
    ) -> RecalledRepair:
        question = session.tasks[task].goal[:MAX_QUESTION]
        state = describe_call(failure.call)
        recalled = read_memory(
            self.project, SYSTEM, question=question, state=state, user=USER
        )
        given = [item.id for item in recalled.episodes]
        wanted = self._holders(failure)
        was_given = not wanted.isdisjoint(given)
        ranked = given if was_given or not wanted else self._rank(question, state)
        ranks = [at for at, pk in enumerate(ranked, 1) if pk in wanted]
        return RecalledRepair(
            session=session.name,
            kind=failure.kind,
            signatures=list(failure.known),
            question=question,
            state=state,
            was_given=was_given,
            rank=min(ranks, default=None),
            wanted=_describe(sorted(wanted)),
            given=_describe(given),
        )

    def _holders(self, failure: SessionFailure) -> set[str]:
        """Return the episodes of tasks in which the signature failed and was repaired."""
        return {
            self.episodes[past.session, past.task]
            for repairs in failure.known.values()
            for past in repairs
            if past.task is not None
            and past.task == past.cured_in
            and (past.session, past.task) in self.episodes
        }

    def _rank(self, question: str, state: str) -> list[str]:
        """Return the episodes of a longer list, found as those of the prompt are."""
        query = RecallQuery.begin(
            self.project,
            SYSTEM,
            question=question,
            state=state,
            user_id=USER,
            session=None,
        )
        asked = TierQuery(query.question_and_state, top_k=DEPTH, vector=query.of_both)
        found = find_in_scopes(
            self.project,
            SYSTEM,
            asked,
            kind=EPISODE,
            scopes=scopes_of(USER, None),
        )
        return [str(hit.memory.pk) for hit in found.hits]

    def _store(
        self,
        number: int,
        session: RecordedSession,
        task: int,
        calls: Sequence[SessionCall],
    ) -> None:
        """Store the task as an invocation that has ended, and learn from it as a worker does.

        A task that the person interrupted is a cancelled run, of which nothing is learned.
        """
        recorded = session.tasks[task]
        is_done = recorded.outcome != "unknown"
        status = AgentRun.RunStatus.DONE if is_done else AgentRun.RunStatus.CANCELLED
        run = AgentRun.objects.create(
            project=self.project,
            user_id=USER,
            agent_id="benchmark",
            actor="benchmark",
            request={"question": recorded.goal[:MAX_QUESTION]},
            has_memory=True,
            status=status,
            steps=[_step(call).to_dict() for call in calls],
            answer=recorded.result,
            ended_at=timezone.now(),
        )
        arguments = {"run_id": str(run.pk)}
        temp_project.run_job(
            invocation_job.KIND, self.project, lambda done: None, arguments
        )
        run.refresh_from_db(fields=["learned"])
        if episode := run.learned.get("episode"):
            self.episodes[number, task] = episode


def describe_call(call: SessionCall) -> str:
    """Return a failed call with its error, as an agent says where the work stands."""
    arguments = call.command or json.dumps(call.arguments, ensure_ascii=False)
    return f"{call.tool} {arguments[:MAX_CALL]}\n{call.result}"[:MAX_STATE]


def _comes_back(failure: SessionFailure) -> bool:
    return failure.kind in OF_THE_PROJECT and bool(failure.known)


def _step(call: SessionCall) -> AgentStep:
    return AgentStep(
        thought="",
        action=call.tool,
        arguments=dict(call.arguments),
        observation=call.result,
        is_error=call.is_error,
    )


def _describe(ids: Iterable[str]) -> list[str]:
    keys = [uuid.UUID(pk) for pk in ids]
    rows = Memory.objects.in_bulk(keys)
    return ["\n".join([rows[key].goal, *rows[key].steps]) for key in keys]


def _count(answers: Sequence[RecalledRepair]) -> list[dict[str, Any]]:
    asked = Counter(answer.kind for answer in answers)
    given = Counter(answer.kind for answer in answers if answer.was_given)
    counts = [
        {"class": str(kind), "failures": asked[kind], "given": given[kind]}
        for kind in OF_THE_PROJECT
    ]
    total = {
        "class": "of the project",
        "failures": asked.total(),
        "given": given.total(),
    }
    return [*counts, total]


def _worst(answers: Sequence[RecalledRepair]) -> list[RecalledRepair]:
    """Return the misses, the deepest rank first."""
    misses = [answer for answer in answers if not answer.was_given]
    return sorted(misses, key=lambda miss: -(miss.rank or DEPTH + 1))


def table(result: Mapping[str, Any]) -> Iterator[list[str]]:
    yield ["class", "failures", "episode given", "share"]
    for each in result["classes"]:
        asked, given = each["failures"], each["given"]
        share = f"{given / asked:.0%}" if asked else ""
        yield [each["class"], str(asked), str(given), share]


def remarks(result: Mapping[str, Any], *, is_shown: bool) -> Iterator[str]:
    """Yield the share, and the worst misses; the table unless it is shown already."""
    if not is_shown:
        yield align_columns(table(result))
    yield (
        f"{result['episodes']} episodes; the share must be at least {MIN_SHARE:.0%}. "
        f"{result['without_episode']} failures have a repair that no episode holds."
    )
    for miss in result["misses"][:SHOWN_MISSES]:
        yield from _describe_miss(miss)


def _describe_miss(miss: Mapping[str, Any]) -> Iterator[str]:
    rank = miss["rank"] or f"beyond {DEPTH}"
    yield f"\nMissed, rank {rank}: {miss['session']}, {'; '.join(miss['signatures'])}"
    yield f"  question: {_line(miss['question'])}"
    yield f"  state: {_line(miss['state'])}"
    yield from (f"  wanted: {_line(text)}" for text in miss["wanted"][:SHOWN_MISSES])
    yield from (f"  given: {_line(text)}" for text in miss["given"])


def _line(text: str) -> str:
    return " ".join(text.split())[:MAX_SHOWN]
