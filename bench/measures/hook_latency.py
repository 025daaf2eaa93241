"""Measure how long an agent waits at its start and at its first prompt in a large project."""

from __future__ import annotations

import time
import uuid
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from bench.datasets import corpora
from bench.fixtures import population, temp_project
from bench.fixtures.population import Passages
from bench.options import BenchmarkOptions
from bench.report import quality_metrics
from bench.report.progress_bar import ProgressBar
from common.caller import SYSTEM
from conversations.formats.message import ChatMessage
from conversations.messages.append import append, prepare
from conversations.models import Message
from conversations.search_index.search_columns import MESSAGES
from conversations.sessions.lifecycle import SessionDraft, bootstrap
from mcp_server.hooks import event_answer
from projects.models import Project
from search import statistics

HELP = "p50 and p95 of hooks in a project of many memories and sessions."
MAX_P95_MS = 300
MEMORIES, SESSIONS, SAID = 100_000, 2_000, 30
ASKED = 120  # sessions that start and ask
QUERIES = ("til-jb", "cacm")


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--memories", type=int, default=MEMORIES)
    parser.add_argument("--sessions", type=int, default=SESSIONS)


def run(options: BenchmarkOptions) -> dict[str, Any]:
    passages = population.load_passages(options.data)
    size = options.extra["memories"]
    with population.project_among_others(
        size, size, 0, passages, keep=options.keep
    ) as project:
        _write_sessions(project, options.extra["sessions"], passages)
        prompts = _prompts(options)
        _ask(project, prompts[:20])  # the first ones load what later ones have
        return {"milliseconds": _ask(project, prompts[20 : 20 + ASKED])}


def _prompts(options: BenchmarkOptions) -> list[str]:
    folders = {
        folder.name: folder for folder in corpora.collection_folders(options.data)
    }
    found = [corpora.load_collection(folders[name]) for name in QUERIES]
    return [query.text for one in found for query in one.queries][::4]


def _write_sessions(project: Project, count: int, passages: Passages) -> None:
    bar = ProgressBar("sessions", count)
    for number in range(count):
        session, _ = bootstrap(project, SessionDraft(f"session-{number}"), SYSTEM)
        said = [_message(passages, number * SAID + place) for place in range(SAID)]
        append(project, session, prepare(project, said), SYSTEM)
        bar.show(number + 1)
    temp_project.run_job("embed_messages", project, lambda done: None)
    rows = Message.objects.visible()
    statistics.rebuild(rows, project_id=project.pk, name=MESSAGES)
    temp_project.maintain_indexes()
    temp_project.analyze(Message)


def _message(passages: Passages, number: int) -> ChatMessage:
    texts = passages.texts
    # Two passages, so that no two messages are the same.
    text = f"{texts[number % len(texts)]} {texts[number * 7 % len(texts)]}"
    role = ("user", "assistant")[number % 2]
    return ChatMessage(role, ({"type": "text", "text": text},))


def _ask(project: Project, prompts: Sequence[str]) -> dict[str, list[float]]:
    caller = replace(SYSTEM, key_id=uuid.uuid4())
    spent: dict[str, list[float]] = {"start": [], "prompt": []}
    for number, prompt in enumerate(prompts):
        event = {"session_id": f"{caller.key_id}-{number}", "cwd": "/home/ana/app"}
        start = {**event, "hook_event_name": "SessionStart", "source": "startup"}
        asked = {**event, "hook_event_name": "UserPromptSubmit", "prompt": prompt}
        for name, payload in (("start", start), ("prompt", asked)):
            answer = partial(
                event_answer.answer, caller, project, "claude-code", payload
            )
            spent[name].append(_time(answer))
    return spent


def _time(act: Callable[[], object]) -> float:
    started = time.perf_counter()
    act()
    return round((time.perf_counter() - started) * 1000, 1)


def table(result: Mapping[str, Any]) -> Iterator[list[str]]:
    yield ["event", "p50 ms", "p95 ms", "at most"]
    for name, spent in result["milliseconds"].items():
        shown = [quality_metrics.percentile(spent, share) for share in (0.5, 0.95)]
        yield [name, *(f"{each:.0f}" for each in shown), str(MAX_P95_MS)]


def remarks(result: Mapping[str, Any]) -> Iterator[str]:
    yield from ()
