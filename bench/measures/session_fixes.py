"""Replay recorded sessions, and measure the fixes that are known at the moment of failure.

Every task is reported in order of time by one key that may attest, under the policy
assisted, and nobody accepts anything. Before that, each of its failed calls asks for its
fix, so that each moment sees only what came before. The recorded sessions themselves are the
judge: `bench.judge` says what failed before, and what then worked.
"""

from __future__ import annotations

import re
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import process_time
from typing import Any

from django.core.management.base import CommandError

from access import keys
from ace import run as runs
from ace.repairs import lookup
from ace.repairs.lookup import KnownFix
from ace.repairs.trust import FixWords
from ace.task import task as tasks
from bench.datasets.recorded_sessions import FOLDER, session_files
from bench.fixtures import temp_project
from bench.judge.failure_class import (
    OF_THE_PROJECT,
    FailureClass,
)
from bench.judge.failure_history import (
    FailureHistory,
    SessionFailure,
)
from bench.judge.repairs import describe_change
from bench.judge.session_calls import (
    RecordedSession,
    SessionCall,
    read_sessions,
)
from bench.measures import session_context, session_pushes
from bench.measures.context_sheet import ContextSheet
from bench.measures.session_context import SessionContext
from bench.measures.session_pushes import SessionPushes
from bench.options import BenchmarkOptions
from bench.report.progress_bar import ProgressBar
from bench.report.text_table import align_columns
from common.caller import Caller, Role
from inference import tokens
from projects.models import Project
from projects.options import DedupSettings

HELP = "What is known of recorded sessions at the moment of a failure, judged by what then worked."
# The targets: of the failures that came back, a fix is said, and it is what then worked.
MIN_SAID, MIN_RIGHT = 0.35, 0.6
MAX_LISTED = 60  # suggestions that are printed for reading
MAX_SHOWN = 300  # characters of a text that is printed
# The product's own settings, unlike those of other benchmarks.
SETTINGS = {
    "dedup": DedupSettings().model_dump(),
    "secrets": "mask",
    "policy": "assisted",
}
AGENT = "coder"


@dataclass(frozen=True)
class AskedFailure:
    """A failed call, what was known of it, and what was said.

    `came_back` says that an earlier session had the same failure, `is_right` that the first
    suggestion is what then worked, and `was_said_right` the same of what was said.
    """

    session: str
    kind: str
    command: str
    error: str
    came_back: bool
    is_known: bool
    is_right: bool
    said: str
    was_said_right: bool
    then: list[str]


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--plot", type=Path, help="draw what the sessions already knew to this file"
    )


def run(options: BenchmarkOptions) -> dict[str, Any]:
    done = replay(options, "sessions")
    if plot := options.extra["plot"]:
        plot.write_text(session_pushes.draw(done.pushes), encoding="utf-8")
    return {
        **done.context,
        **done.pushes,
        "sessions": done.sessions,
        "tasks": done.tasks,
        "cpu_seconds": round(done.cpu_seconds, 1),
        "classes": [_count([kind], kind, done.asked) for kind in OF_THE_PROJECT]
        + [_count(OF_THE_PROJECT, "of the project", done.asked)]
        + [_count([k], k, done.asked) for k in FailureClass if k not in OF_THE_PROJECT],
        "said": [asdict(each) for each in done.asked if each.said],
    }


@dataclass(frozen=True)
class ReplayedSessions:
    """What a replay measured; `context` is what the sessions were given at their start, and `pushes` what
    hooks gave.
    """

    sessions: int
    tasks: int
    cpu_seconds: float
    asked: list[AskedFailure]
    context: dict[str, Any]
    pushes: dict[str, Any]
    sheet: ContextSheet | None


def replay(
    options: BenchmarkOptions,
    name: str,
    *,
    asks: bool = True,
    seed: int | None = None,
) -> ReplayedSessions:
    """Report the sessions in order of time to a project of its own.

    With a seed, the contexts of some later tasks are kept for a sheet.
    """
    files = session_files(options.data)
    if not files:
        raise CommandError(f"{options.data / FOLDER} holds no transcripts.")
    with temp_project.create_project(
        name, keep=options.keep, settings=SETTINGS
    ) as project:
        going = SessionReplay(project, asks=asks)
        sessions = list(read_sessions(files))
        sheet = None if seed is None else ContextSheet.draw(sessions, seed)
        bar = ProgressBar("sessions", len(sessions))
        for number, session in enumerate(bar.over(sessions)):
            if sheet:
                sheet.ask(project, session, going.caller)
            going.add_session(number, session)
        context = going.context.result()
        pushes = going.pushes.result() if going.pushes else {}
    return ReplayedSessions(
        len(sessions),
        going.tasks,
        going.cpu_seconds,
        going.asked,
        context,
        pushes,
        sheet,
    )


class SessionReplay:
    """A project that learns from one session after the other."""

    def __init__(self, project: Project, *, asks: bool = True) -> None:
        self.project = project
        self.caller = issue_key(project)
        self.context = SessionContext(project, self.caller)
        self.pushes = SessionPushes(project, self.caller) if asks else None
        self.asked: list[AskedFailure] = []
        self.tasks = 0
        self.cpu_seconds = 0.0
        self._history = FailureHistory()

    def add_session(self, number: int, session: RecordedSession) -> None:
        failures = self._history.replay(number, session)
        self.context.begin(number, session, failures)
        if self.pushes:
            self.pushes.begin(session)
        for task in range(len(session.tasks)):
            calls = session.calls_of(task)
            self.context.ask_in_session(session, task)
            if self.pushes:
                self.pushes.prompt(session, task)
            for failure in failures:
                if self.pushes and failure.call.task == task:
                    self.asked.append(self._ask(session, failure))
                    self.pushes.failure(session, failure)
            if calls:
                self._complete(session, task, calls)
        self.context.end(session)

    def _ask(self, session: RecordedSession, failure: SessionFailure) -> AskedFailure:
        call = tasks.parse_failed_call(_failed_call(failure.call))
        known = lookup.suggest(self.project, call, self.caller)
        said = lookup.find(self.project, call, self.caller)
        return AskedFailure(
            session=session.name,
            kind=failure.kind,
            command=failure.call.command or failure.call.path or failure.call.tool,
            error=said.cure.signature.line if said else "",
            came_back=bool(failure.seen_in),
            is_known=bool(known),
            is_right=bool(known) and is_what_worked(known[0], failure),
            said=said.text if said else "",
            was_said_right=said is not None and is_what_worked(said, failure),
            then=[f"{each.kind}: {each.text}" for each in failure.repairs.values()],
        )

    def _complete(
        self, session: RecordedSession, task: int, calls: Sequence[SessionCall]
    ) -> None:
        recorded = session.tasks[task]
        request = {
            "agent_id": AGENT,
            "goal": recorded.goal,
            "result": recorded.result,
            "feedback": recorded.feedback,
            "feedback_source": "agent",
            "session_id": session.name,
            "branch": recorded.branch,
            "tool_usage": [_call(call) for call in calls],
        }
        if recorded.outcome:
            request["outcome"] = recorded.outcome
        started = process_time()
        runs.complete(self.project, request, self.caller)
        self.cpu_seconds += process_time() - started
        self.tasks += 1


def is_what_worked(fix: KnownFix, failure: SessionFailure) -> bool:
    """Whether a fix is one of the repairs of the session, as the judge names repairs."""
    if failure.kind is FailureClass.LINT and fix.cure.signature.issue:
        rule = f"lint {fix.cure.signature.issue.rule}:"
        kind = fix.words.cure
        wanted = {r.kind for s, r in failure.repairs.items() if s.startswith(rule)}
    else:
        kind = _describe_fix(failure, fix.words)
        wanted = {each.kind for each in failure.repairs.values()}
    return bool(kind) and kind in wanted


def _describe_fix(failure: SessionFailure, words: FixWords) -> str:
    if failure.kind is FailureClass.SHELL:
        return describe_change(words.failed, words.worked)
    if failure.kind is FailureClass.PATH:
        return words.worked
    names = re.findall(r"`([^`]+)`", f"{words.failed} {words.worked}")
    return " ".join([failure.call.tool, *sorted(names)])


def issue_key(project: Project) -> Caller:
    issued = keys.issue(
        name="sessions", role=Role.WRITER, projects=[project], may_attest=True
    )
    key = issued.key
    return Caller(
        name=f"key:{key.name}",
        roles={project.pk: Role.WRITER},
        key_id=key.pk,
        line_id=key.line_id,
        root_line_id=key.root_line_id,
        may_attest=True,
    )


def _call(call: SessionCall) -> dict[str, Any]:
    step = {"tool_name": call.tool, "arguments": dict(call.arguments)}
    step |= {"result": call.result, "cwd": call.cwd}
    return step | ({"status": "error"} if call.is_error else {})


def _failed_call(call: SessionCall) -> dict[str, Any]:
    arguments = dict(call.arguments)
    return {"tool": call.tool, "arguments": arguments, "error": call.result, "cwd": call.cwd}  # fmt: skip


def _count(
    kinds: Sequence[str], name: str, asked: Sequence[AskedFailure]
) -> dict[str, Any]:
    own = [each for each in asked if each.kind in kinds]
    came_back = [each for each in own if each.came_back]
    said = [each for each in own if each.said]
    return {
        "class": str(name),
        "failures": len(own),
        "came_back": len(came_back),
        "known": sum(each.is_known for each in came_back),
        "right": sum(each.is_right for each in came_back),
        "said_again": sum(bool(each.said) for each in came_back),
        "said": len(said),
        "said_right": sum(each.was_said_right for each in said),
        "tokens": sum(tokens.estimate(each.said) for each in said),
    }


def table(result: Mapping[str, Any]) -> Iterator[list[str]]:
    yield [
        "class",
        "failures",
        "came back",
        "known",
        "share",
        "first then worked",
        "share",
        "said of these",
        "share",
        "said",
        "said, then worked",
        "share",
        "tokens said",
    ]
    for each in result["classes"]:
        back = each["came_back"]
        shares = [_share(each["known"], back), _share(each["right"], back)]
        yield [
            each["class"],
            str(each["failures"]),
            str(back),
            str(each["known"]),
            shares[0],
            str(each["right"]),
            shares[1],
            str(each["said_again"]),
            _share(each["said_again"], back),
            str(each["said"]),
            str(each["said_right"]),
            _share(each["said_right"], each["said"]),
            str(each["tokens"]),
        ]


def remarks(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the targets, and what was said, for reading."""
    yield (
        f"{result['tasks']} tasks of {result['sessions']} sessions took "
        f"{result['cpu_seconds']} s of CPU. Of the project's failures that came back, a fix "
        f"must be said for {MIN_SAID:.0%}, and of the fixes that are said, {MIN_RIGHT:.0%} must be "
        "what then worked. Nothing may be said of code, tests and the harness."
    )
    yield align_columns(session_context.table(result))
    yield from session_context.remarks(result)
    yield from session_pushes.remarks(result)
    for each in result["said"][:MAX_LISTED]:
        mark = "then worked" if each["was_said_right"] else "something else worked"
        yield f"\n{each['session']}, {each['kind']}, {mark}: {_line(each['command'])}"
        yield f"  error: {_line(each['error'])}"
        yield f"  said: {each['said']}"
        yield from (f"  then: {_line(text)}" for text in each["then"][:3])


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else ""


def _line(text: str) -> str:
    return " ".join(text.split())[:MAX_SHOWN]
