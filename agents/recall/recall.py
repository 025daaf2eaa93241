"""Read the tiers of memory for one invocation."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from agents.recall import memory_items, sources
from agents.recall.failures import SourceFailures
from agents.recall.recalled_memory import RecalledMemory
from agents.recall.side_reads import begin_read
from agents.recall.sources import RecallQuery
from common import errors
from common.caller import Caller, Role
from context import unsafe_texts
from context.digest.assemble import Digest, choose_for_prompt
from context.task_records import RankedHits
from context.task_rules import RelevantRules
from conversations.invocations.switch import is_memory_on
from conversations.models import Invocation, Session
from conversations.sessions.lifecycle import resolve_user
from memories.models import Memory
from memories.read import exposures as memory_exposures
from memories.read.recalls import note_recalled
from memories.read.search import MemoryHit
from playbook.models import Exposure
from playbook.reading import exposures
from projects.models import Project

NO_INVOCATIONS: Sequence[Invocation] = ()
NO_HITS: Sequence[MemoryHit] = ()


def recall(
    project: Project,
    caller: Caller,
    *,
    question: str,
    state: str = "",
    user: str = "",
    session: Session | None = None,
) -> RecalledMemory:
    """Return what an invocation is given from memory, and record its rules and memories.

    A source that fails leaves its part empty; `errors` says so. Where memory is off for the
    user or the conversation, nothing is read. Refuse with NotFound for another user's name.
    """
    recalled = read_memory(
        project, caller, question=question, state=state, user=user, session=session
    )
    failed = SourceFailures()
    with failed.collect("exposures"):
        record_exposure(project, caller, recalled, session)
    return failed.add_to(recalled)


def read_memory(
    project: Project,
    caller: Caller,
    *,
    question: str,
    state: str = "",
    user: str = "",
    session: Session | None = None,
    token_budget: int | None = None,
) -> RecalledMemory:
    """Like `recall`, but record no exposure.

    `token_budget` is that of the prompt, if it is not the project's; profile, soul and
    constraints take a fifth of it each at most.
    """
    caller.require(Role.VIEWER, project.pk)
    user_id = _user_of(user, session, caller)
    failed = SourceFailures()
    budget = token_budget or project.options.agents.token_budget

    def read() -> RecalledMemory:
        if not is_memory_on(project, user_id, session):
            return RecalledMemory()
        query = RecallQuery(project, caller, question, state, user_id, session)
        return _read_sources(query, budget, failed)

    return failed.add_to(failed.ask("memory", read, RecalledMemory()))


def _read_sources(
    query: RecallQuery, budget: int, failed: SourceFailures
) -> RecalledMemory:
    # Before the threads begin, which share these.
    vectors, _ = query.vectors, query.digest
    # The searches take longest.
    begun_facts = begin_read(lambda: sources.read_facts(query))
    begun_episodes = begin_read(lambda: sources.read_episodes(query))
    begun_digest = begin_read(lambda: sources.gather_digest(query))
    invocations = failed.ask(
        "conversation", lambda: sources.read_invocations(query), NO_INVOCATIONS
    )
    notes = failed.ask("agent memory", lambda: sources.read_notes(query, budget), "")
    rules = failed.ask("rules", lambda: sources.read_rules(query), RelevantRules([], 0))
    facts = failed.ask("facts", begun_facts, NO_HITS)
    episodes = failed.ask("episodes", begun_episodes, RankedHits([], 0))
    hits = [*facts, *episodes.hits]
    given = {hit.memory.pk for hit in hits}
    digest = failed.ask(
        "digest",
        lambda: choose_for_prompt(begun_digest(), query.caller, besides=given),
        Digest(""),
    )
    if error := vectors[1].exception():
        failed.add(f"facts and episodes are found by their words alone: {error}")
    for note in rules.notes:
        failed.add(f"rules: {note}")
    for note in digest.notes:
        failed.add(f"digest: {note}")
    with failed.collect("recalled_at"):
        note_recalled(hit.memory for hit in hits)
    items = [
        *map(memory_items.item_of_hit, hits),
        *map(memory_items.item_of_digest, digest.included),
        *map(memory_items.item_of_rule, rules.rules),
        *map(memory_items.item_of_invocation, invocations),
    ]
    lines = Memory.objects.in_bulk([line.memory.pk for line in digest.included])
    memories = [*(hit.memory for hit in hits), *lines.values()]
    unsafe = unsafe_texts.find_memories(query.caller, memories)
    unsafe |= unsafe_texts.find_rules(rule.entry for rule in rules.rules)
    pinned = [each for each in digest.omitted if "structured" in each.sources]
    counts = {
        "past tasks about this that are not given": episodes.left_out,
        "pinned memories without room": len(pinned),
    }
    return RecalledMemory(
        tuple(item for item in items if item.id not in {*map(str, unsafe)}),
        notes,
        (
            *(f"{what}: {count}" for what, count in counts.items() if count),
            *unsafe_texts.note_on(len(unsafe)),
        ),
    )


def record_exposure(
    project: Project,
    caller: Caller,
    given: RecalledMemory,
    session: Session | None = None,
) -> None:
    """Record the rules and memories that the agent was given, as the context of a task does."""
    agent_id = session.agent_id if session else caller.agent_id
    exposures.record(
        project,
        {uuid.UUID(item.id): item.score for item in given.of_kind("rule")},
        caller,
        source=Exposure.ExposureSource.CONTEXT,
        agent_id=agent_id,
    )
    memory_exposures.record(
        project,
        [uuid.UUID(item.id) for item in given.of_kind("fact", "episode", "memory")],
        caller,
        agent_id=agent_id,
    )


def _user_of(user: str, session: Session | None, caller: Caller) -> str:
    """Return the user whose memory is read; refuse a session of somebody else."""
    user_id = resolve_user(user, caller)
    if session is None:
        return user_id
    if user_id and session.user_id != user_id:
        raise errors.NotFound("There is no such conversation of this user.")
    return session.user_id
