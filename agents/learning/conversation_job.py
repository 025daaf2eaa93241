"""The job at the end of a conversation: promotions, an episode, and the facts not looked for.

A conversation ends by a signal, or after it was idle for the project's conversation-timeout.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db.models import Exists, OuterRef
from django.utils import timezone

from agents.learning import (
    conversation_episode,
    fact_candidates,
    facts_from_run,
    model_question,
    promotion,
)
from agents.learning.fact_candidates import FoundFacts
from agents.models import AgentRun
from agents.run_texts import USER, SourceText, source_texts
from agents.tiers.fact_store import (
    FactOwner,
    commit_facts,
    find_owner,
    prepare_facts,
)
from common.caller import SYSTEM, Caller, Role
from common.db import write
from conversations.invocations.end import KIND, end_conversation
from conversations.invocations.record import list_invocations
from conversations.invocations.switch import MemoryOff, is_memory_on, require_memory
from conversations.models import Invocation, Session
from conversations.sessions.lookup import lock_session
from inference.errors import InferenceError
from jobs import runner
from memories.store.admission import lock_quotas
from memories.store.write import Batch
from projects import model_access
from projects.models import Project

__all__ = ["end_conversation", "end_idle"]

ATTEMPTS = 8
MAX_ENDED = 200  # conversations of a project that one pass ends
# A conversation that was idle longer than this, while no worker ran, stays as it is.
MAX_IDLE = timedelta(days=30)
SCAN_SIZE = 20  # invocations that one question to the model covers


def end_idle(project: Project) -> int:
    """End the conversations that are idle for too long; return their number."""
    minutes = project.options.agents.conversation_timeout
    now = timezone.now()
    newer = Invocation.objects.filter(session=OuterRef("pk"), hidden_at=None)
    idle = Session.objects.filter(
        Exists(newer),
        project=project,
        ended_at=None,
        has_memory=True,
        last_active__lt=now - timedelta(minutes=minutes),
        last_active__gt=now - MAX_IDLE,
    )
    sessions = list(idle.order_by("last_active")[:MAX_ENDED])
    for session in sessions:
        end_conversation(session, SYSTEM)
    return len(sessions)


@runner.handler(KIND, attempts=ATTEMPTS, silence=timedelta(minutes=10))
def learn_from_conversation(job: runner.JobRun) -> dict[str, Any]:
    """Promote useful facts, record an episode, and scan what was not scanned yet."""
    rows = Session.objects.select_related("project")
    session = rows.filter(pk=job.job.args["session_id"]).first()
    if session is None:
        return {"skipped": "the conversation is gone"}
    if not is_memory_on(session.project, session.user_id, session):
        return {"skipped": "memory is off"}
    invocations = list(list_invocations(session, SYSTEM))
    promoted = promotion.promote_facts(session)
    job.step(1, 3)
    episode = conversation_episode.record_conversation(session, invocations)
    job.step(2)
    try:
        facts, refused = _scan(job, session, invocations)
    except MemoryOff:  # somebody has turned it off meanwhile
        return {"skipped": "memory is off", "promoted": promoted, "episode": episode}
    return {
        "promoted": promoted,
        "episode": episode,
        "facts": facts,
        "refused": dict(refused),
    }


def _scan(
    job: runner.JobRun, session: Session, invocations: Sequence[Invocation]
) -> tuple[list[str], Counter[str]]:
    """Look for facts in the invocations that are newer than the last scan.

    Return the ids of the facts, and refusals by reason. Without a model nothing is scanned,
    so that a later end scans it.
    """
    facts: list[str] = []
    refused: Counter[str] = Counter()
    project = session.project
    is_wanted = project.options.agents.enable_auto_fact_extraction
    if not (is_wanted and model_access.is_enabled(project)):
        return facts, refused
    newer = [row for row in invocations if row.seq > session.scanned_invocation]
    for start in range(0, len(newer), SCAN_SIZE):
        part = newer[start : start + SCAN_SIZE]
        found = _find_facts(session, part)
        owner = find_owner("", session)
        batch = prepare_facts(project, found.facts, owner, _scanner(project), {})
        ids, refusals = _store(session, part[-1].seq, owner, batch, found)
        facts += ids
        refused += refusals
        job.step(3 + start)
    return facts, refused


def _scanner(project: Project) -> Caller:
    """Return a writer: the service does not vouch for what callers report as a user's words."""
    return Caller(name=SYSTEM.name, roles={project.pk: Role.WRITER})


def _find_facts(session: Session, rows: Sequence[Invocation]) -> FoundFacts:
    """Look for facts in the user's words, and in what tools answered in our agent's runs.

    The results and summaries that a caller reports are an agent's words: they prove nothing.
    """
    runs = AgentRun.objects.in_bulk([row.run_id for row in rows if row.run_id])
    texts = [text for row in rows for text in _texts_of(row, runs)]
    if not texts:
        return FoundFacts()
    try:
        return fact_candidates.find_facts(session.project, texts)
    except InferenceError as error:
        raise model_question.retry(error) from error


def _texts_of(row: Invocation, runs: dict[uuid.UUID, AgentRun]) -> list[SourceText]:
    run = runs.get(row.run_id) if row.run_id else None
    if run is None:
        return [SourceText(f"the user's words {row.seq}", row.query, USER)]
    return [] if facts_from_run.DONE in run.learned else source_texts(run)


@write
def _store(
    session: Session, last: int, owner: FactOwner, batch: Batch, found: FoundFacts
) -> tuple[list[str], Counter[str]]:
    """Store the facts and the place up to which was scanned, in one transaction."""
    lock_quotas(batch.project)
    locked = lock_session(session)
    owner.require(locked)
    require_memory(session.project, locked.user_id, locked)
    if locked.scanned_invocation >= last:
        return [], Counter()  # another worker was faster
    ids, refused = commit_facts(batch)
    locked.scanned_invocation = last
    locked.save(update_fields=["scanned_invocation"])
    return ids, found.refused + refused
