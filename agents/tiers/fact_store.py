"""Write checked facts into the scope of the user, or of an anonymous conversation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.tiers.fact_proof import CheckedFact
from common import errors
from common.caller import Caller
from conversations.models import Session
from conversations.sessions.lookup import not_found_error
from memories.models import Memory
from memories.scopes import Scope
from memories.store import memory_types, write
from memories.store.drafts import Draft
from memories.store.write import Batch
from projects.models import Project


class OwnerChanged(errors.StateConflict):
    """A user has claimed the conversation in this moment; try again."""

    code = "owner_changed"


@dataclass(frozen=True)
class FactOwner:
    """Whose facts they are: a user's, or those of a conversation without a user."""

    user_id: str = ""
    session_key: str = ""

    @classmethod
    def of(cls, user_id: str, session: Session | None) -> FactOwner:
        """Return the named user, or the user who claimed the session, or the session."""
        if session is None:
            return cls(user_id)
        return cls(user_id or session.user_id, session.key)

    @property
    def scope(self) -> Scope | None:
        """The scope of the facts; None if nobody could be given them again."""
        if self.user_id:
            return Scope("user", self.user_id)
        return Scope("session", self.session_key) if self.session_key else None

    def require(self, locked: Session | None) -> None:
        """Refuse with OwnerChanged if a user has claimed the session, which is locked now.

        The claim has moved the facts of the session's scope, where nobody may find new ones.
        """
        if locked and locked.user_id and not self.user_id:
            raise OwnerChanged


def find_owner(user_id: str, session: Session | None) -> FactOwner:
    """Return whose facts they are now: a session may have been claimed after it was read.

    Raise NotFound if it was purged.
    """
    if session is None:
        return FactOwner(user_id)
    current = Session.objects.filter(pk=session.pk).first()
    if current is None:
        raise not_found_error(session.key)
    return FactOwner.of(user_id, current)


def prepare_facts(
    project: Project,
    facts: Sequence[CheckedFact],
    owner: FactOwner,
    caller: Caller,
    metadata: Mapping[str, Any],
) -> Batch:
    """Check, mask and embed facts; this is the slow part, outside of the transaction.

    A fact in the user's words has the source `user` if the caller may claim it, and `agent`
    otherwise (memories.store.claimed_source).
    """
    drafts = [_draft(fact, owner, metadata) for fact in facts]
    return write.prepare(project, drafts, caller)


def commit_facts(batch: Batch) -> tuple[list[str], Counter[str]]:
    """Store prepared facts in the caller's transaction; return ids, and refusals by code.

    A fact that repeats another one has the id of that one.
    """
    ids: dict[str, None] = {}
    refused: Counter[str] = Counter()
    for receipt in write.commit(batch):
        if receipt.refusal:
            refused[receipt.refusal.code] += 1
        elif kept := receipt.duplicate_of or receipt.memory:
            ids[str(kept.pk)] = None
    return list(ids), refused


def _draft(fact: CheckedFact, owner: FactOwner, metadata: Mapping[str, Any]) -> Draft:
    source = {
        "conversation_id": owner.session_key,
        "quote": fact.quote,
        "quoted": fact.source,
    }
    return Draft(
        content=fact.content,
        memory_type=memory_types.classify(fact.content),
        kind=Memory.Kind.FACT.value,
        user_id=owner.user_id,
        scope=owner.scope,
        source=fact.source,
        confidence=fact.confidence,
        created_in_session_id=owner.session_key,
        metadata=dict(metadata),
        provenance={name: text for name, text in source.items() if text},
    )
