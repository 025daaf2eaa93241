"""Promote the facts of an anonymous conversation that proved useful in it.

A fact proved useful if a later invocation was given it and the answer uses its words. Then
the user who claimed the conversation gets it. The workspace gets it if a person has confirmed
it, or if nobody claimed the conversation and the fact is about no user.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from django.db.models import Q

from access.models import ApiKey
from agents.models import AgentRun
from agents.tiers import shared_words
from agents.tiers.fact_gate import check_fact
from audit.models import AuditEvent
from common import errors
from common.caller import SYSTEM, Role
from common.db import write
from conversations.models import Session
from conversations.sessions.lookup import lock_session
from memories.lifecycle import derive, promote
from memories.lifecycle.derive import Derivation
from memories.models import Memory
from memories.scopes import Scope
from memories.store.admission import lock_quotas
from memories.store.quotas import QuotaExceeded

# The share of a fact's key words that an answer must have.
MIN_SHARE = 0.5
# As models are told to write what the user says, and as the user says it.
_OF_USER = re.compile(r"\b(?:users?|I|me|my|mine)\b", re.IGNORECASE)
MAX_RUNS = 1_000  # newest runs of a conversation that are read


def promote_facts(session: Session) -> list[str]:
    """Promote the useful facts of a conversation; return the ids of the new copies.

    A second call promotes nothing again, even if somebody has deleted a copy meanwhile.
    """
    copies: list[str] = []
    for fact in _useful_facts(session):
        for target in _targets(session, fact):
            copies += _promote(session, fact, target)
    return copies


def _useful_facts(session: Session) -> Iterator[Memory]:
    scope = Scope("session", session.key, user=session.user_id)
    rows = Memory.objects.current().filter(project=session.project)
    facts = rows.in_scope(scope).filter(kind=Memory.Kind.FACT).order_by("pk")
    runs = AgentRun.objects.filter(
        project=session.project, session_id=session.pk, status=AgentRun.RunStatus.DONE
    )
    given = list(runs.only("memory", "answer", "created_at")[:MAX_RUNS])
    for fact in facts:
        if any(_has_used(run, fact) for run in given):
            yield fact


def _has_used(run: AgentRun, fact: Memory) -> bool:
    is_given = str(fact.pk) in (run.memory.get("facts") or [])
    return (
        is_given
        and run.created_at > fact.created_at
        and shared_words.key_words(fact.content) != set()
        and shared_words.share(fact.content, run.answer) >= MIN_SHARE
    )


def _targets(session: Session, fact: Memory) -> Iterator[Scope]:
    """Yield where a fact goes; the user's own copy comes last."""
    if is_confirmed(fact) or not (session.user_id or _is_of_user(fact)):
        yield Scope("workspace", str(session.project_id))
    if session.user_id:
        yield Scope("user", session.user_id)


def _is_of_user(fact: Memory) -> bool:
    """Whether a fact is about the user, whom nobody knows later, or is none by its gate."""
    return bool(_OF_USER.search(fact.content) or check_fact(fact.content))


def is_confirmed(fact: Memory) -> bool:
    """Whether a person has confirmed a fact: a signed-in one, or a curator's own key."""
    if fact.verified_at is None:
        return False
    events = AuditEvent.objects.filter(object_id=str(fact.pk), verb="memory.verify")
    curators = ApiKey.objects.filter(role__gte=Role.CURATOR, user_id="", agent_id="")
    by_person = Q(account_id__isnull=False) | Q(key_id__in=curators.values("pk"))
    return events.filter(by_person).exists()


def _promote(session: Session, fact: Memory, target: Scope) -> list[str]:
    try:
        # In the user's own scope, the copy takes the place of the original.
        derivation = promote.prepare(
            fact, target, SYSTEM, delete_original=target.kind == "user"
        )
        return _commit(session, fact, derivation)
    # The fact was changed or deleted meanwhile, or there is no room: it stays where it is.
    except (errors.NotFound, errors.StaleVersion, QuotaExceeded):
        return []


@write
def _commit(session: Session, fact: Memory, derivation: Derivation) -> list[str]:
    lock_quotas(derivation.project)
    lock_session(session)  # another worker may promote the same fact
    scope = derivation.draft.scope
    assert scope
    if Memory.objects.filter(promoted_from=fact.pk, scope_hash=scope.hash).exists():
        return []
    receipt = derive.commit(derivation, SYSTEM)
    return [str(receipt.memory.pk)] if receipt.memory else []
