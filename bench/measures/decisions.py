"""Measure what a first prompt is given of what was decided earlier, on `decisions` of the data."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from django.db import transaction

from bench.datasets.recorded_sessions import load_session, session_files
from bench.fixtures import temp_project
from bench.options import BenchmarkOptions
from bench.report.progress_bar import ProgressBar
from common.caller import SYSTEM
from context.decisions import decide
from context.decisions.decide import Decisions
from context.decisions.passages import Passage
from conversations.formats.message import ChatMessage
from conversations.messages import commits
from conversations.messages.append import MAX_MESSAGES, append, prepare
from conversations.messages.commits import Commit
from conversations.models import Message, Session
from conversations.search_index.search_columns import MESSAGES
from conversations.sessions import lifecycle
from conversations.sessions.lifecycle import SessionDraft
from conversations.transcripts.tasks import prompt_of
from inference import tokens
from projects.models import Project
from search import statistics

HELP = "Decisions at the first prompt: whole, amended, absent; seconds and tokens."
SEED = 20261128
NOW = datetime(2026, 11, 1, tzinfo=UTC)
DAYS = 120  # within which the conversations of a store began
AMENDMENTS = Path(__file__).parents[1] / "data" / "amendments.jsonl"
STEP = timedelta(minutes=3)  # between two messages
Turn = Mapping[str, str]


@dataclass
class TaskResult:
    """What one report was given."""

    id: str
    kind: str
    given: bool = False
    whole: bool = False
    newest_last: bool | None = None
    absent_given: bool = False
    # With a later chat that was written blind: whether it is given, and an older one alone.
    amended: bool | None = None
    superseded_alone: bool = False
    # With the last word of the agent cut off; None if the rest does not say all.
    cut_whole: bool | None = None
    tokens: int = 0
    milliseconds: float = 0.0
    text: str = ""
    # Evidence and rare words of the best passages: with the answer, and without it.
    best: list[tuple[float, float]] = field(default_factory=list)
    absent: list[tuple[float, float]] = field(default_factory=list)


def run(options: BenchmarkOptions) -> dict[str, Any]:
    folder = options.data / "decisions"
    tasks = _read(folder / "tasks.jsonl")
    decoys = [each["turns"] for each in _read(folder / "decoys.jsonl")]
    history = [_read_commit(each) for each in _read(folder / "commits.jsonl")]
    results: list[TaskResult] = []
    for name in ("chat", "commit"):
        chosen = [task for task in tasks if task["kind"] == name]
        with temp_project.create_project("decisions", keep=options.keep) as project:
            store = Store(project)
            for number, turns in enumerate(decoys):
                store.add_chat(f"decoy {number}", turns)
            if name == "commit":
                for start in range(0, len(history), 200):
                    commits.record(project, history[start : start + 200], SYSTEM)
            store.index()
            bar = ProgressBar(name, len(chosen))
            for number, task in enumerate(chosen, start=1):
                results.append(store.measure(task))
                bar.show(number)
            if name == "chat":
                foreign = _ask_foreign(store, tasks, options.data)
    return {
        "tasks": [asdict(result) for result in results],
        "sessions": _replay(options, [task["prompt"] for task in tasks]),
        "foreign": foreign,
    }


def _ask_foreign(
    store: Store, tasks: Sequence[Mapping[str, Any]], data: Path
) -> list[str]:
    """Ask the first prompts of the sessions of a store about something else; return the given."""
    for number, task in enumerate(tasks):
        for part, turns in enumerate(task["chats"]):
            store.add_chat(f"report {number} {part}", turns)
    store.index()
    asked = filter(None, (_first_prompt(load_session(p)) for p in session_files(data)))
    return [text for _, text, _ in map(store.ask, asked) if text]


def _replay(options: BenchmarkOptions, reports: Sequence[str]) -> dict[str, Any]:
    """Ask the first prompt of each session before it is stored; then the reports, as foreign."""
    given: list[dict[str, Any]] = []
    asked = 0
    paths = session_files(options.data)
    with temp_project.create_project("sessions", keep=options.keep) as project:
        store = Store(project)
        bar = ProgressBar("sessions", len(paths))
        for number, path in enumerate(paths, start=1):
            messages = load_session(path)
            if prompt := _first_prompt(messages):
                asked += 1
                found, text, took = store.ask(prompt)
                if text:
                    evidence = max(each.answer.passage.evidence for each in found.given)
                    given.append(
                        {
                            "session": path.name,
                            "prompt": prompt,
                            "text": text,
                            "evidence": evidence,
                            "milliseconds": took,
                        }
                    )
            store.add_messages(path.name, messages)
            store.index(is_counted=number % 5 == 0)
            bar.show(number)
        foreign = [text for _, text, _ in map(store.ask, reports) if text]
    return {"asked": asked, "given": given, "foreign": foreign}


def _first_prompt(messages: Sequence[ChatMessage]) -> str:
    prompts = map(prompt_of, messages)
    return next(filter(None, prompts), "")


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _read_commit(row: Mapping[str, Any]) -> Commit:
    return Commit(
        row["id"], row["subject"], row["body"], datetime.fromisoformat(row["date"])
    )


class Store:
    """The conversations and commits of a project; each report's own come and go."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.chance = random.Random(SEED)
        self.amendments = {each["id"]: each for each in _read(AMENDMENTS)}

    def add_chat(
        self, key: str, turns: Sequence[Turn], at: datetime | None = None
    ) -> None:
        begun = at or NOW - timedelta(days=self.chance.random() * DAYS)
        messages = [
            ChatMessage(
                role=turn["role"],
                parts=({"type": "text", "text": turn["text"]},),
                created_at=begun + number * STEP,
            )
            for number, turn in enumerate(turns)
        ]
        self.add_messages(key, messages)

    def add_messages(self, key: str, messages: Sequence[ChatMessage]) -> None:
        session, _ = lifecycle.bootstrap(self.project, SessionDraft(key), SYSTEM)
        for start in range(0, len(messages), MAX_MESSAGES):
            batch = prepare(self.project, messages[start : start + MAX_MESSAGES])
            append(self.project, session, batch, SYSTEM)

    def index(self, *, is_counted: bool = True) -> None:
        temp_project.run_job("embed_messages", self.project, lambda _: None)
        if is_counted:
            statistics.rebuild(
                Message.objects.visible(), project_id=self.project.pk, name=MESSAGES
            )

    def ask(self, prompt: str) -> tuple[Decisions, str, float]:
        started = time.perf_counter()
        found = decide.find(self.project, prompt, SYSTEM)
        took = (time.perf_counter() - started) * 1000
        text = "\n".join(line for quote in found.given for line in quote.quote.lines)
        return found, text, took

    def measure(self, task: Mapping[str, Any]) -> TaskResult:
        result = TaskResult(
            task["id"], "amended" if task.get("amended") else task["kind"]
        )
        absent, _, _ = self.ask(task["prompt"])
        result.absent_given, result.absent = bool(absent.given), _signals(absent)
        with self.kept(task["chats"], task["commit"]):
            found, result.text, result.milliseconds = self.ask(task["prompt"])
            result.given, result.best = bool(found.given), _signals(found)
            result.tokens = tokens.estimate(result.text)
            result.whole = says_all(task, result.text)
            if task.get("amended"):
                last = found.given[-1].answer.id if found.given else None
                newest = Session.objects.get(project=self.project, key="task 1")
                result.newest_last = last == newest.pk
        if task["id"] in self.amendments:
            self._measure_amended(task, result)
        cut = [_cut_last_word(turns) for turns in task["chats"]]
        if cut and says_all(task, _text_of(cut[-1])):
            with self.kept(cut, None):
                result.cut_whole = says_all(task, self.ask(task["prompt"])[1])
        return result

    def _measure_amended(self, task: Mapping[str, Any], result: TaskResult) -> None:
        later = self.amendments[task["id"]]
        with self.kept([*task["chats"], later["chat"]], None):
            text = self.ask(task["prompt"])[1]
        result.amended = bool(re.search(later["new"], text, re.IGNORECASE))
        result.superseded_alone = bool(text) and not result.amended

    def kept(
        self, chats: Sequence[Sequence[Turn]], commit: Mapping[str, str] | None
    ) -> Any:
        return _Kept(self, chats, commit)


class _Kept(transaction.Atomic):
    """The store with a report's own conversations or commit, until the end of the block."""

    def __init__(
        self,
        store: Store,
        chats: Sequence[Sequence[Turn]],
        commit: Mapping[str, str] | None,
    ) -> None:
        super().__init__(using=None, savepoint=True, durable=False)
        self.store, self.chats, self.commit = store, chats, commit

    def __enter__(self) -> None:
        super().__enter__()
        first = NOW - timedelta(days=30 + self.store.chance.random() * 60)
        for number, turns in enumerate(self.chats):
            self.store.add_chat(
                f"task {number}", turns, first + timedelta(days=9 * number)
            )
        if self.commit:
            own = Commit("f" * 40, self.commit["subject"], self.commit["body"], first)
            cause = Commit(
                "e" * 40, self.commit["cause"], "", first + timedelta(days=5)
            )
            commits.record(self.store.project, [own, cause], SYSTEM)
        self.store.index()

    def __exit__(self, *error: Any) -> None:
        transaction.set_rollback(True)
        super().__exit__(*error)


def _passages(found: Decisions) -> list[Passage]:
    return [each.passage for each in found.near]


def _signals(found: Decisions) -> list[tuple[float, float]]:
    return [(round(each.evidence, 3), round(each.rare, 2)) for each in _passages(found)]


def says_all(task: Mapping[str, Any], text: str) -> bool:
    if task["commit"]:
        sentences = re.split(r"(?<=[.!?])\s+", task["commit"]["body"])
        return all(" ".join(each.split()) in text for each in sentences)
    return all(re.search(each, text, re.IGNORECASE) for each in task["must_contain"])


def _cut_last_word(turns: Sequence[Turn]) -> list[Turn]:
    last = max(n for n, turn in enumerate(turns) if turn["role"] == "assistant")
    return [turn for n, turn in enumerate(turns) if n != last]


def _text_of(turns: Sequence[Turn]) -> str:
    return "\n".join(turn["text"] for turn in turns)


def table(result: Mapping[str, Any]) -> list[list[str]]:
    rows = [
        [
            "kind",
            "reports",
            "given",
            "whole",
            "cut: whole",
            "newest last",
            "absent: given",
        ]
    ]
    for kind in ("chat", "amended", "commit"):
        of_kind = [each for each in result["tasks"] if each["kind"] == kind]
        cut = [each["cut_whole"] for each in of_kind if each["cut_whole"] is not None]
        rows.append(
            [
                kind,
                str(len(of_kind)),
                *(
                    str(sum(each[name] for each in of_kind))
                    for name in ("given", "whole")
                ),
                f"{sum(cut)} of {len(cut)}",
                str(sum(bool(each["newest_last"]) for each in of_kind)),
                str(sum(each["absent_given"] for each in of_kind)),
            ]
        )
    return rows


def remarks(result: Mapping[str, Any]) -> Iterator[str]:
    sizes = [each["tokens"] for each in result["tasks"]]
    times = sorted(each["milliseconds"] for each in result["tasks"])
    yield f"At most {max(sizes)} tokens; {times[int(len(times) * 0.95)]:.0f} ms at the 95th percentile."
    sessions = result["sessions"]
    yield (
        f"Sessions: given at {len(sessions['given'])} of {sessions['asked']} first prompts; "
        f"reports of another project: {len(sessions['foreign'])}; first prompts of sessions "
        f"in another store: {len(result['foreign'])}."
    )
    amended = [each for each in result["tasks"] if each["amended"] is not None]
    yield (
        f"Amended blind: {sum(each['amended'] for each in amended)} of {len(amended)} are given; "
        f"the superseded one alone {sum(each['superseded_alone'] for each in amended)} times."
    )
    for each in result["tasks"]:
        if each["superseded_alone"]:
            yield f"Superseded alone: {each['id']}"
        if not each["whole"]:
            yield f"Not whole: {each['id']} ({'given' if each['given'] else 'nothing'})"
