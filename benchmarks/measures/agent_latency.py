"""Measure what memory adds to an agent's first model call, and how its prompts grow."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from agents.prompt.build import PromptInput, build_prompt
from agents.prompt.invocation_context import NoSteps
from agents.recall.recall import recall
from benchmarks.fixtures import bulk_entries, population, temp_project
from benchmarks.fixtures.population import Passages
from benchmarks.measures import prompt_growth
from benchmarks.options import BenchmarkOptions
from benchmarks.report import quality_metrics
from benchmarks.report.progress_bar import ProgressBar
from common.caller import SYSTEM
from conversations.models import Invocation, Session
from conversations.sessions.lifecycle import SessionDraft, bootstrap
from inference.embedding import active_model
from memories.models import Memory
from memories.read import search
from memories.scopes import Scope
from projects.models import Project

MEMORIES = 100_000
QUERIES, WARM_UP, LIMIT = 200, 20, 20
EVERY = 40  # one memory in so many is a fact, and one an episode: 5,000 of 100,000
RULES, INVOCATIONS = 200, 100
AGENTS = 10
USER = "user-1"  # whose facts and episodes a tenth of all are
STATE = "The task waits for a decision."
# At most this many times the p95 of one hybrid search (design page 08).
MAX_RATIO = 3


def measure(options: BenchmarkOptions, parts: Collection[str]) -> dict[str, Any]:
    """Measure `latency`, `prompts` or both in one project."""
    passages = population.load_passages(options.data)
    count = options.extra["memories"]
    with temp_project.create_project("agent", keep=options.keep) as project:
        fill_project(project, count, passages)
        session = _make_conversation(project, passages)
        result: dict[str, Any] = {"memories": count}
        if "latency" in parts:
            queries = passages.queries[: options.extra["queries"] + WARM_UP]
            result["queries"] = len(queries) - _warm_up(queries)
            result |= _measure_times(project, session, queries)
        if "prompts" in parts:
            result |= prompt_growth.measure(project, session, passages.texts)
        return result


def fill_project(project: Project, count: int, passages: Passages) -> None:
    """Write memories of which some are facts and episodes, a tenth of these of one user."""
    tier = f"mod(number, {EVERY})"
    is_of_user = f"mod(number, {EVERY * 10}) IN (0, {EVERY // 2})"
    scope = Scope("user", USER)
    own = {
        "agent_id": f"'agent-' || mod(number, {AGENTS})",
        "scope_kind": f"CASE WHEN {is_of_user} THEN 'user' ELSE pattern.scope_kind END",
        "scope_key": f"CASE WHEN {is_of_user} THEN '{USER}' ELSE pattern.scope_key END",
        "scope_hash": f"CASE WHEN {is_of_user} THEN '{scope.hash}' "
        "ELSE pattern.scope_hash END",
        "kind": f"CASE {tier} WHEN 0 THEN 'fact' WHEN {EVERY // 2} THEN 'episode' "
        "ELSE 'note' END",
    }
    bar = ProgressBar(f"{count:,} memories", count)
    population.fill_project(project, count, passages, bar.show, own)
    bulk_entries.write_rules(
        project,
        [
            f"{text[:200].strip()} (rule {n})"
            for n, text in enumerate(passages.texts[:RULES])
        ],
    )
    temp_project.refresh_statistics(project)
    temp_project.maintain_indexes()


def _make_conversation(project: Project, passages: Passages) -> Session:
    session, _ = bootstrap(
        project, SessionDraft("main", agent_id="agent-1", user_id=USER), SYSTEM
    )
    Invocation.objects.bulk_create(
        Invocation(
            session=session,
            project_id=project.pk,
            seq=number,
            query=passages.queries[number % len(passages.queries)],
            summary=f"The agent looked it up: {text[:200]}",
            result=text[:200],
        )
        for number, text in enumerate(passages.texts[:INVOCATIONS], start=1)
    )
    temp_project.analyze(Session, Invocation, Memory)
    session.project = project
    return session


def _measure_times(
    project: Project, session: Session, queries: Sequence[str]
) -> dict[str, float]:
    """Time one search and one recall for each query, in turn, each embedded anew."""
    searches: list[float] = []
    added: list[float] = []
    for query in ProgressBar("questions", len(queries)).over(queries):
        searches.append(_milliseconds(partial(_search, project, query)))
        added.append(_milliseconds(partial(_recall, project, session, query)))
    return {
        **_percentiles("search_ms", searches[_warm_up(queries) :]),
        **_percentiles("added_ms", added[_warm_up(queries) :]),
    }


def _warm_up(queries: Sequence[str]) -> int:
    """Return how many of the first queries do not count."""
    return min(WARM_UP, len(queries) // 2)


def _milliseconds(act: Callable[[], object]) -> float:
    active_model.forget_queries()
    started = time.perf_counter()
    act()
    return (time.perf_counter() - started) * 1000


def _search(project: Project, query: str) -> object:
    return search.find(project, search.MemorySearch(query, limit=LIMIT), SYSTEM)


def _recall(project: Project, session: Session, query: str) -> object:
    recalled = recall(
        project, SYSTEM, question=query, state=STATE, user=USER, session=session
    )
    options = project.options.agents
    return build_prompt(
        PromptInput(
            question=query,
            recalled=recalled,
            working=NoSteps(),
            tools=(),
            protocol=options.protocol,
            additional_context="",
            token_budget=options.token_budget,
        )
    )


def _percentiles(name: str, spent: Sequence[float]) -> dict[str, float]:
    return {
        f"{name}_p{share}": round(quality_metrics.percentile(spent, share / 100), 1)
        for share in (50, 95)
    }


def table(result: Mapping[str, Any]) -> Iterator[list[str]]:
    yield ["", "p50 ms", "p95 ms"]
    if "added_ms_p95" in result:
        yield ["one hybrid search", *_format_times(result, "search_ms")]
        yield ["recall and prompt", *_format_times(result, "added_ms")]
    if "prompt_tokens" in result:
        yield from prompt_growth.table(result)


def _format_times(result: Mapping[str, Any], name: str) -> list[str]:
    return [f"{result[f'{name}_p{share}']:.1f}" for share in (50, 95)]


def remarks(result: Mapping[str, Any]) -> Iterator[str]:
    if "added_ms_p95" not in result:
        return
    ratio = result["added_ms_p95"] / result["search_ms_p95"]
    yield (
        f"Memory adds {ratio:.1f} times the p95 of one hybrid search (at most {MAX_RATIO}) in "
        f"a project of {result['memories']:,} memories; {result['queries']} questions."
    )
