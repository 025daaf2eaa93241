"""The contract of a session memory: one protocol for each capability (seed 002).

The verbs are those of the seed, in snake case.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

from conversations.agent_memory.snapshots import SessionSnapshot
from conversations.compaction.compact import CompactionMode, CompactionResult
from conversations.formats.message import ChatMessage
from conversations.messages.explore import DescribeResult, ExpandResult
from conversations.session_search.search import Scope, SessionHit
from conversations.sessions.stats import SessionStats


@dataclass(frozen=True)
class SessionRef:
    """What identifies a session to a store: its key, agent, user and channel."""

    id: str
    agent_id: str
    user_id: str = ""
    channel: str = ""


@dataclass(frozen=True)
class SessionInfo:
    """What a store says about a session in a list."""

    id: str
    agent_id: str
    user_id: str
    channel: str
    title: str
    created_at: datetime
    last_active: datetime
    archived: bool


@dataclass(frozen=True)
class ListOptions:
    """Which sessions to list; the limit 0 is no limit, and a user of None is all users."""

    agent_id: str = ""
    user_id: str | None = None
    include_archived: bool = False
    limit: int = 0
    offset: int = 0


@dataclass(frozen=True)
class SearchQuery:
    text: str
    scope: Scope = "both"
    limit: int = 20


@dataclass(frozen=True)
class ConstraintEntry:
    id: str
    text: str
    created_at: str


@dataclass(frozen=True)
class ChangeEntry:
    """One record of the changelog."""

    user_id: str
    agent_id: str
    scope: str
    action: str
    source: str = "agent"
    session_id: str = ""
    memory_version_before: int | None = None
    memory_version_after: int | None = None
    before_text: str = ""
    after_text: str = ""
    id: str = ""
    created_at: str = ""


@runtime_checkable
class Provider(Protocol):
    """What every store can do."""

    name: str

    def bootstrap(self, session: SessionRef) -> None:
        """Make the session unless it exists."""

    def append(self, session: SessionRef, *messages: ChatMessage) -> None:
        """Store messages at the end, in one transaction."""

    def assemble(
        self, session: SessionRef, budget: int, fresh_tail: int
    ) -> list[ChatMessage]:
        """Return the context within the budget; the tail is always whole."""

    def stats(self, session: SessionRef) -> SessionStats:
        """Return zeros for an unknown session."""

    def close(self) -> None:
        """Release what the store holds; it may be called twice."""


@runtime_checkable
class Compactor(Protocol):
    def needs_compaction(self, session: SessionRef, threshold: float) -> bool: ...

    def compact(
        self, session: SessionRef, mode: CompactionMode
    ) -> CompactionResult: ...


@runtime_checkable
class Searcher(Protocol):
    def search(self, session: SessionRef, query: SearchQuery) -> list[SessionHit]: ...


@runtime_checkable
class Explorer(Protocol):
    def describe(self, summary_id: str) -> DescribeResult: ...

    def expand(self, summary_id: str, token_cap: int) -> ExpandResult: ...


@runtime_checkable
class ProfileStore(Protocol):
    def get_profile(self, user_id: str, agent_id: str) -> str: ...

    def set_profile(self, user_id: str, agent_id: str, content: str) -> None: ...

    def get_agent_soul(self, user_id: str, agent_id: str) -> str: ...

    def set_agent_soul(self, user_id: str, agent_id: str, content: str) -> None: ...


@runtime_checkable
class VersionedProfileStore(Protocol):
    def get_profile_at(self, user_id: str, agent_id: str, version: int) -> str: ...

    def get_agent_soul_at(self, user_id: str, agent_id: str, version: int) -> str: ...


@runtime_checkable
class ConstraintStore(Protocol):
    def get_constraints(self, user_id: str, agent_id: str) -> list[ConstraintEntry]: ...

    def add_constraint(
        self, user_id: str, agent_id: str, text: str
    ) -> list[ConstraintEntry]: ...

    def remove_constraint(
        self, user_id: str, agent_id: str, constraint_id: str
    ) -> list[ConstraintEntry]: ...


@runtime_checkable
class VersionedConstraintStore(Protocol):
    def get_constraints_at(
        self, user_id: str, agent_id: str, version: int
    ) -> list[ConstraintEntry]: ...


@runtime_checkable
class ChangelogReader(Protocol):
    def read_changelog(
        self, user_id: str, agent_id: str, scope: str, limit: int
    ) -> list[ChangeEntry]: ...


@runtime_checkable
class ChangelogWriter(Protocol):
    def write_changelog(self, entry: ChangeEntry) -> None: ...


@runtime_checkable
class SessionSnapshotStore(Protocol):
    def get_or_create_session_snapshot(
        self, session_id: str, user_id: str, agent_id: str
    ) -> SessionSnapshot: ...

    def advance_session_snapshot(
        self, session_id: str, user_id: str, agent_id: str
    ) -> None: ...


@runtime_checkable
class SessionManager(Protocol):
    def save_info(self, info: SessionInfo) -> None: ...

    def load_info(self, session_id: str) -> SessionInfo: ...

    def list_info(self, options: ListOptions) -> list[SessionInfo]: ...

    def load_history(self, session_id: str) -> list[ChatMessage]: ...


@runtime_checkable
class Reviewer(Protocol):
    def build_review_context(
        self, session: SessionRef, since: datetime | None = None
    ) -> str: ...


# {name in the API: protocol}
CAPABILITIES: dict[str, Any] = {
    "provider": Provider,
    "compactor": Compactor,
    "searcher": Searcher,
    "explorer": Explorer,
    "profile_store": ProfileStore,
    "versioned_profile_store": VersionedProfileStore,
    "constraint_store": ConstraintStore,
    "versioned_constraint_store": VersionedConstraintStore,
    "changelog_reader": ChangelogReader,
    "changelog_writer": ChangelogWriter,
    "session_snapshot_store": SessionSnapshotStore,
    "session_manager": SessionManager,
    "reviewer": Reviewer,
}


def message_role(message: ChatMessage) -> str:
    return message.role


def message_text(message: ChatMessage) -> str:
    """Return the plain text of a message; of a tool message, the result."""
    return message.text


def message_timestamp(message: ChatMessage) -> datetime | None:
    return message.created_at
