"""Measure what a session is given at its start: files, card and cures, without a judge.

Everything is asked before the session is reported, so that it knows earlier sessions only. The
session itself says what it then changed, ran and broke.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import process_time
from typing import Any

from ace.repairs import failed_call
from ace.task import check_commands, file_paths, shell
from ace.task import task as tasks
from ace.task.check_commands import CheckKind
from bench.judge.failure_class import (
    OF_THE_PROJECT,
    classify,
)
from bench.judge.failure_history import SessionFailure
from bench.judge.session_calls import (
    RecordedSession,
    SessionCall,
)
from bench.report import quality_metrics
from common.caller import Caller
from common.text import word_hashes
from context.card import card, card_rows, known_commands
from context.card.card import ProjectCard
from context.files import file_use, recommend, twins
from playbook.models import PlaybookEntry
from projects.models import Project

DEPTH = 10  # recommended files that count
EVERY = 10  # sessions between two cards, and sessions that judge a card
MIN_SEEN = 2  # earlier sessions in which a failure must have been seen
MOST_FREQUENT = 10  # commands of the baseline
FIRST_LATER = 90  # the first session of the later ones, as the prototype was tested
DECAY = 40  # tasks after which a change of a file counts e times less


@dataclass
class ChangedFiles:
    """The files that earlier tasks changed, for the baselines."""

    tasks: int = 0
    changes: defaultdict[str, list[int]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def add(self, paths: Iterable[str]) -> None:
        self.tasks += 1
        for path in paths:
            self.changes[path].append(self.tasks)

    def orders(self) -> dict[str, list[str]]:
        """Return all files in three orders: most recent, most frequent, decayed."""
        values: dict[str, dict[str, float]] = {
            "recent": {path: at[-1] for path, at in self.changes.items()},
            "frequent": {path: len(at) for path, at in self.changes.items()},
            "decayed": {
                path: sum(math.exp((each - self.tasks) / DECAY) for each in at)
                for path, at in self.changes.items()
            },
        }
        return {
            name: sorted(scores, key=lambda path: (-scores[path], path))
            for name, scores in values.items()
        }


@dataclass
class CardCheck:
    """A card after a tenth session, and how the next sessions judge it."""

    patterns: frozenset[str]
    frequent: frozenset[str]
    ran: int = 0
    covered: int = 0
    covered_by_frequent: int = 0
    worked: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    sessions: int = 0


class SessionContext:
    """What sessions of one project are given, and what they then needed."""

    def __init__(self, project: Project, caller: Caller) -> None:
        self.project, self.caller = project, caller
        self.recalls: defaultdict[str, list[float]] = defaultdict(list)
        self.later_recalls: defaultdict[str, list[float]] = defaultdict(list)
        self.first_recalls: defaultdict[str, list[float]] = defaultdict(list)
        self.in_session: list[float] = []
        self.checks: list[CardCheck] = []
        self.came_back = self.prevented = 0
        self.card_tokens: list[int] = []
        self.cpu_seconds = 0.0
        self._earlier = ChangedFiles()
        self._segments: Counter[str] = Counter()

    def begin(
        self,
        number: int,
        session: RecordedSession,
        failed: Sequence[SessionFailure],
    ) -> None:
        """Measure a session before any of its tasks is reported."""
        if number % EVERY == 0 and number:
            self.checks.append(self._make_check())
        started = process_time()
        made = card.make(self.project, self.caller)
        self.cpu_seconds += process_time() - started
        self.card_tokens.append(made.tokens)
        self._count_prevented(made, failed)
        for task in range(len(session.tasks)):
            if wanted := changed_files(session.calls_of(task)):
                self._measure_files(number, session, task, wanted)
        if self.checks:
            _judge(self.checks[-1], session)

    def ask_in_session(self, session: RecordedSession, task: int) -> None:
        """Measure the files with what the session has reported so far."""
        wanted = changed_files(session.calls_of(task))
        if wanted:
            recorded = session.tasks[task]
            found = recommend.recommend(
                self.project,
                recorded.goal,
                self.caller,
                limit=DEPTH,
                session=session.name,
                branch=recorded.branch,
            )
            paths = [file.file_path for file in found.files]
            self.in_session.append(_recall(paths, wanted))

    def end(self, session: RecordedSession) -> None:
        for task in range(len(session.tasks)):
            if calls := session.calls_of(task):
                self._earlier.add(changed_files(calls))
        for call in session.calls:
            self._segments.update(_segments(call))

    def result(self) -> dict[str, Any]:
        """Return the shares, 0 to 1, under the names of the API's benchmarks."""
        ran = sum(check.ran for check in self.checks)
        shares = {name: _mean(values) for name, values in self.recalls.items()}
        later = {name: _mean(values) for name, values in self.later_recalls.items()}
        firsts = {name: _mean(values) for name, values in self.first_recalls.items()}
        baselines = ("recent", "frequent", "decayed")
        used = [(check.worked, check.failed - check.worked) for check in self.checks]
        shown = sum(len(check.patterns) for check in self.checks)
        return {
            "prevented": _share(self.prevented, self.came_back),
            "came_back": self.came_back,
            "card_covered": _share(sum(c.covered for c in self.checks), ran),
            "card_baseline": _share(
                sum(c.covered_by_frequent for c in self.checks), ran
            ),
            "card_commands": ran,
            "card_false": _share(sum(len(failed) for _, failed in used), shown),
            "card_tokens": max(self.card_tokens, default=0),
            "files_tasks": len(self.recalls["ranking"]),
            "files_recall": shares.get("ranking"),
            "files_baseline": max(
                (shares.get(n) or 0.0 for n in baselines), default=0.0
            ),
            "files_baselines": {name: shares.get(name) for name in baselines},
            "files_recall_later": later.get("ranking"),
            "files_baseline_later": max(
                (later.get(n) or 0.0 for n in baselines), default=0.0
            ),
            "files_recall_first": firsts.get("ranking"),
            "files_baseline_first": max(
                (firsts.get(n) or 0.0 for n in baselines), default=0.0
            ),
            "files_recall_in_session": _mean(self.in_session),
            "last_card": card.make(self.project, self.caller).text,
            "card_cpu_seconds": round(self.cpu_seconds, 1),
        }

    def _make_check(self) -> CardCheck:
        rows = card_rows.read(self.project, self.caller)
        known = known_commands.find(rows.commands, self.caller)
        frequent = [name for name, _ in self._segments.most_common(MOST_FREQUENT)]
        return CardCheck(frozenset(each.pattern for each in known), frozenset(frequent))

    def _count_prevented(
        self, made: ProjectCard, failed: Sequence[SessionFailure]
    ) -> None:
        subjects = {line.subject for line in made.lines if line.section == "failure"}
        again = [
            each
            for each in failed
            if each.kind in OF_THE_PROJECT and len(each.seen_in) >= MIN_SEEN
        ]
        entries = PlaybookEntry.objects.current().filter(project=self.project)
        rules = list(entries.values_list("content", flat=True)) if again else []
        self.came_back += len(again)
        self.prevented += sum(_is_given(each.call, subjects, rules) for each in again)

    def _measure_files(
        self, number: int, session: RecordedSession, task: int, wanted: Collection[str]
    ) -> None:
        recorded = session.tasks[task]
        before = [each.goal for each in reversed(session.tasks[:task])]
        query = recommend.weigh_words([recorded.goal, *before[: file_use.MAX_PROMPTS]])
        is_shared = recorded.branch in recommend.SHARED_BRANCHES
        uses = file_use.count(
            self.project,
            [word_hashes.hash_word(word) for word in query],
            self.caller,
            branch="" if is_shared else recorded.branch,
        )
        ranked = recommend.rank(uses, query, recorded.goal)
        orders = {
            "ranking": [file.file_path for file in ranked],
            **self._earlier.orders(),
        }
        for name, paths in orders.items():
            value = _recall(paths, wanted)
            self.recalls[name].append(value)
            if number >= FIRST_LATER:
                self.later_recalls[name].append(value)
            if task == 0:
                self.first_recalls[name].append(value)


def changed_files(calls: Sequence[SessionCall]) -> set[str]:
    """Return the files that the tools for edits changed, relative to the checkout."""
    roots = sorted({call.cwd for call in calls if call.cwd}, key=len)
    paths = {
        file_paths.relative(call.path, roots)
        for call in calls
        if call.path and call.hunks and not call.is_error
    }
    return {path for path in paths if file_paths.is_inside(path)}


def _recall(paths: Sequence[str], wanted: Collection[str]) -> float:
    """Return the share of the wanted files among the first; a file and its test are one."""
    subject_of = twins.group([*paths, *wanted])
    first = list(dict.fromkeys(subject_of[path] for path in paths))[:DEPTH]
    needed = {subject_of[path] for path in wanted}
    return len(needed.intersection(first)) / len(needed)


def _is_given(
    call: SessionCall, subjects: Collection[str], rules: Iterable[str]
) -> bool:
    """Return whether the card or a rule names the failure, with its cure."""
    step = {"tool": call.tool, "arguments": dict(call.arguments), "error": call.result, "cwd": call.cwd}  # fmt: skip
    failure = failed_call.read(tasks.parse_failed_call(step))
    names = {each.name for each in failure.signatures} if failure else set()
    if names & set(subjects):
        return True
    of_linter = [name.removeprefix("lint ").partition(":")[0] for name in names if name.startswith("lint ")]  # fmt: skip
    return any(f"`{rule}`" in content for rule in of_linter for content in rules)


def _judge(check: CardCheck, session: RecordedSession) -> None:
    if check.sessions == EVERY:
        return
    check.sessions += 1
    for call in session.calls:
        has_worked = classify(call) is None and not call.is_error
        for each in check_commands.find(call.command) if call.command else ():
            if each.pattern in check.patterns:
                (check.worked if has_worked else check.failed).add(each.pattern)
            if has_worked and each.kind is not CheckKind.RUN:
                check.ran += 1
                check.covered += each.pattern in check.patterns
                check.covered_by_frequent += each.pattern in check.frequent


def _segments(call: SessionCall) -> Iterator[str]:
    """Yield the programs of a command that worked, each with its masked words."""
    if not call.command or call.is_error or classify(call) is not None:
        return
    for simple in shell.parse(call.command):
        if simple.words and len(simple.words) <= check_commands.MAX_WORDS:
            yield check_commands.pattern_of(simple.words)


def _mean(values: Sequence[float]) -> float | None:
    return round(quality_metrics.mean(values), 4) if values else None


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def table(result: Mapping[str, Any]) -> Iterator[list[str]]:
    """Yield a row for each target."""
    yield ["what", "measured", "beside", "target"]
    best = max((v or 0.0 for v in result["files_baselines"].values()), default=0.0)
    yield ["recommended files, recall@10", _cell(result["files_recall"]), f"{best:.2f} best of recent, frequent, decayed", "≥ .50, ≥ .20 above"]  # fmt: skip
    yield [f"from session {FIRST_LATER} on", _cell(result["files_recall_later"]), _cell(result["files_baseline_later"]), "≥ .50, ≥ .20 above"]  # fmt: skip
    yield ["of a session's first prompt", _cell(result["files_recall_first"]), _cell(result["files_baseline_first"]), "≥ .10 above"]  # fmt: skip
    yield ["with the session's own touches", _cell(result["files_recall_in_session"]), "", ""]  # fmt: skip
    yield ["card covers later checks", _cell(result["card_covered"]), f"{_cell(result['card_baseline'])} ten most frequent", "≥ .75, ≥ .08 above"]  # fmt: skip
    yield ["commands of the card that only failed", _cell(result["card_false"]), "", "≤ .10"]  # fmt: skip
    yield ["failures seen twice whose cure was given at the start", _cell(result["prevented"]), f"{result['came_back']} failures", "≥ .60"]  # fmt: skip
    yield ["tokens of the longest card", str(result["card_tokens"]), "", "≤ 300"]


def remarks(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the last card."""
    yield result["last_card"]


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
