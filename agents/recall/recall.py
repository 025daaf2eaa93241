"""Read the tiers of memory for one invocation."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from agents.recall import sources
from agents.recall.failures import SourceFailures
from agents.recall.memory_items import item_of_episode, item_of_fact
from agents.recall.recalled_memory import RecalledItem, RecalledMemory
from agents.recall.side_reads import begin_read
from agents.recall.sources import DigestLines, RecallQuery
from common import errors
from common.caller import Caller, Role
from conversations.invocations.switch import is_memory_on
from conversations.models import Session
from conversations.sessions.lifecycle import resolve_user
from memories.read import exposures as memory_exposures
from memories.read.recalls import note_recalled
from memories.read.search import MemoryHit
from playbook.models import Exposure
from playbook.reading import exposures
from projects.models import Project

NOTHING: tuple[RecalledItem, ...] = ()
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
        query = RecallQuery.begin(
            project,
            caller,
            question=question,
            state=state,
            user_id=user_id,
            session=session,
        )
        return _read_sources(query, budget, failed)

    return failed.add_to(failed.ask("memory", read, RecalledMemory()))


def _read_sources(
    query: RecallQuery, budget: int, failed: SourceFailures
) -> RecalledMemory:
    # The searches take longest.
    begun_facts = begin_read(lambda: sources.read_facts(query))
    begun_episodes = begin_read(lambda: sources.read_episodes(query))
    begun_digest = begin_read(lambda: sources.read_digest(query))
    invocations = failed.ask(
        "conversation", lambda: sources.read_invocations(query), NOTHING
    )
    notes = failed.ask("agent memory", lambda: sources.read_notes(query, budget), "")
    entries = failed.ask("rules", lambda: sources.read_rules(query), NOTHING)
    facts = failed.ask("facts", begun_facts, NO_HITS)
    episodes = failed.ask("episodes", begun_episodes, NO_HITS)
    if error := query.of_both.exception():
        failed.add(f"facts and episodes are found by their words alone: {error}")
    digest = failed.ask("digest", begun_digest, DigestLines())
    for note in digest.notes:
        failed.add(f"digest: {note}")
    given = [hit.memory for hit in (*facts, *episodes)]
    rest = digest.without({memory.pk for memory in given})
    with failed.collect("recalled_at"):
        note_recalled(given)
    return RecalledMemory(
        facts=tuple(map(item_of_fact, facts)),
        episodes=tuple(map(item_of_episode, episodes)),
        invocations=invocations,
        entries=entries,
        digest="\n".join(line for _, line in rest),
        digest_ids=tuple(str(pk) for pk, _ in rest),
        notes=notes,
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
        {uuid.UUID(item.id): item.score for item in given.entries},
        caller,
        source=Exposure.ExposureSource.CONTEXT,
        agent_id=agent_id,
    )
    memory_exposures.record(
        project,
        [uuid.UUID(item.id) for item in (*given.facts, *given.episodes)],
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
