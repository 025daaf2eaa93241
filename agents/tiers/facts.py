"""Long-term facts: memories of the kind `fact`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from agents.tiers.owner import scope_to_write
from agents.tiers.tier_write import commit, kept_memory
from common.caller import Caller
from memories.models import Memory
from memories.scopes import Scope
from memories.store import memory_types, write
from memories.store.drafts import Draft
from memories.store.write import Batch
from projects.models import Project

FACT = Memory.Kind.FACT.value


@dataclass(frozen=True)
class FactDraft:
    """A fact to store; `source` is the id of the conversation in which it was learned.

    A fact with a key supersedes the earlier fact of the same key and scope. `origin` is
    whose words the fact is, as in `Memory.Source`, and `quote` the words that prove it.
    """

    content: str
    source: str = ""
    user: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    key: str = ""
    value: Any = None
    origin: str = "agent"
    confidence: float | None = None
    quote: str = ""
    expires_at: datetime | None = None


def store_fact(
    project: Project, draft: FactDraft, caller: Caller, scope: Scope | None = None
) -> Memory:
    """Store a fact; return it, or the fact that it repeats.

    Without `scope`, a user's fact is in that user's scope, another one in the workspace.
    Raise MemoryOff, QuotaExceeded, SecretFound, or NotFound for another user's name.
    """
    return kept_memory(commit(prepare_fact(project, draft, caller, scope)))


def prepare_fact(
    project: Project, draft: FactDraft, caller: Caller, scope: Scope | None = None
) -> Batch:
    """Check and embed a fact, outside the transaction that stores it (`commit`)."""
    resolved, owner = scope_to_write(project, draft.user, draft.source, caller, scope)
    provenance = {"conversation_id": draft.source, "quote": draft.quote}
    row = Draft(
        content=draft.content,
        memory_type=memory_types.classify(draft.content),
        kind=FACT,
        key=draft.key,
        value=draft.value,
        user_id=owner,
        metadata=dict(draft.metadata),
        scope=resolved,
        source=draft.origin,
        confidence=draft.confidence,
        created_in_session_id=draft.source,
        provenance={name: text for name, text in provenance.items() if text},
        expires_at=draft.expires_at,
    )
    return write.prepare(project, [row], caller)
