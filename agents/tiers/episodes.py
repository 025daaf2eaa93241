"""Episodes: memories of past tasks, with goal, steps, outcome and lessons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from agents.tiers.owner import scope_to_write
from agents.tiers.tier_write import commit, kept_memory
from common.caller import Caller
from memories.models import Memory
from memories.store import episode_text, memory_types, write
from memories.store.drafts import MAX_CONTENT, Draft
from memories.store.write import Batch
from projects.models import Project

EPISODE = Memory.Kind.EPISODE.value


@dataclass(frozen=True)
class EpisodeDraft:
    """A past task to store; `source` is the id of its conversation, if it had one."""

    goal: str
    steps: Sequence[str] = ()
    outcome: str = ""
    lessons: str = ""
    user: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""
    tags: Sequence[str] = ()
    expires_at: datetime | None = None

    @property
    def content(self) -> str:
        """The four parts as one text, cut where a memory's content ends."""
        whole = episode_text.compose(self.goal, self.steps, self.outcome, self.lessons)
        return whole[:MAX_CONTENT]


def store_episode(project: Project, draft: EpisodeDraft, caller: Caller) -> Memory:
    """Store an episode; return it, or the episode that it repeats.

    A user's episode is in that user's scope, another one in the workspace. Raise MemoryOff,
    QuotaExceeded, SecretFound, or NotFound for another user's name.
    """
    return kept_memory(commit(prepare_episode(project, draft, caller)))


def prepare_episode(project: Project, draft: EpisodeDraft, caller: Caller) -> Batch:
    """Check and embed an episode, outside the transaction that stores it (`commit`)."""
    resolved, owner = scope_to_write(project, draft.user, draft.source, caller)
    row = Draft(
        content=draft.content,
        memory_type=memory_types.classify(draft.content),
        kind=EPISODE,
        goal=draft.goal,
        steps=list(draft.steps),
        outcome=draft.outcome,
        lessons=draft.lessons,
        user_id=owner,
        tags=tuple(draft.tags),
        metadata=dict(draft.metadata),
        scope=resolved,
        created_in_session_id=draft.source,
        provenance={"conversation_id": draft.source} if draft.source else {},
        expires_at=draft.expires_at,
    )
    return write.prepare(project, [row], caller)
