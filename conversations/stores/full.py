"""The store `full`: summaries, search, versions, a changelog and snapshots."""

from __future__ import annotations

from conversations.agent_memory import changelog, constraints, snapshots, texts
from conversations.compaction import compaction_need
from conversations.compaction.compact import CompactionMode, CompactionResult
from conversations.compaction.compaction_job import compact_now
from conversations.messages import explore
from conversations.models import AgentMemoryChange
from conversations.session_search.search import (
    SearchFilters,
    SessionHit,
    SessionSearch,
    find,
)
from conversations.stores.contract import (
    ChangeEntry,
    ConstraintEntry,
    SearchQuery,
    SessionRef,
)
from conversations.stores.simple import SimpleStore, constraint_entries


class FullStore(SimpleStore):
    """Every capability of the contract, on the tables of this service."""

    name = "full"

    # Compactor

    def needs_compaction(self, session: SessionRef, threshold: float) -> bool:
        row = self._get(session)
        return compaction_need.describe_need(
            self.project, row, threshold=threshold
        ).needed

    def compact(self, session: SessionRef, mode: CompactionMode) -> CompactionResult:
        return compact_now(self._get(session), mode, self.caller)

    # Searcher

    def search(self, session: SessionRef, query: SearchQuery) -> list[SessionHit]:
        wanted = SessionSearch(
            query.text,
            scope=query.scope,
            limit=query.limit or SearchQuery.limit,
            filters=SearchFilters(session=self._get(session)),
        )
        return find(self.project, wanted, self.caller).hits

    # Explorer

    def describe(self, summary_id: str) -> explore.DescribeResult:
        found = explore.find_summary(summary_id, self.caller, self.project)
        return explore.describe(found)

    def expand(
        self, summary_id: str, token_cap: int = explore.DEFAULT_TOKEN_CAP
    ) -> explore.ExpandResult:
        found = explore.find_summary(summary_id, self.caller, self.project)
        return explore.expand(found, token_cap)

    # VersionedProfileStore and VersionedConstraintStore

    def get_profile_at(self, user_id: str, agent_id: str, version: int) -> str:
        return self._text_at(user_id, agent_id, "profile", version)

    def get_agent_soul_at(self, user_id: str, agent_id: str, version: int) -> str:
        return self._text_at(user_id, agent_id, "soul", version)

    def _text_at(self, user_id: str, agent_id: str, scope: str, version: int) -> str:
        pair = self._pair(user_id, agent_id)
        return texts.read_text(pair, scope, version=_version_or_now(version)).text

    def get_constraints_at(
        self, user_id: str, agent_id: str, version: int
    ) -> list[ConstraintEntry]:
        pair = self._pair(user_id, agent_id)
        found = constraints.list_constraints(pair, version=_version_or_now(version))
        return constraint_entries(found.constraints)

    # ChangelogReader and ChangelogWriter

    def read_changelog(
        self, user_id: str, agent_id: str, scope: str = "", limit: int = 10
    ) -> list[ChangeEntry]:
        rows = changelog.changes_of(self._pair(user_id, agent_id))
        if scope:
            rows = rows.filter(scope=scope)
        return [_entry_of(row) for row in rows[:limit]]

    def write_changelog(self, entry: ChangeEntry) -> None:
        changelog.add_entry(
            self._pair(entry.user_id, entry.agent_id),
            entry.scope,
            entry.action,
            self.caller,
            before=entry.before_text,
            after=entry.after_text,
            source=entry.source,
            session=self._session_of_call(entry.user_id),
        )

    # SessionSnapshotStore

    def get_or_create_session_snapshot(
        self, session_id: str, user_id: str, agent_id: str
    ) -> snapshots.SessionSnapshot:
        row = self._get(SessionRef(session_id, agent_id, user_id))
        return snapshots.get_or_freeze(row, self.caller)

    def advance_session_snapshot(
        self, session_id: str, user_id: str, agent_id: str
    ) -> None:
        row = self._get(SessionRef(session_id, agent_id, user_id))
        snapshots.advance(row, self.caller)


def _version_or_now(version: int) -> int | None:
    """Return the version to read at; 0 or less is the present one."""
    return version if version > 0 else None


def _entry_of(row: AgentMemoryChange) -> ChangeEntry:
    return ChangeEntry(
        id=str(row.pk),
        user_id=row.user_id,
        agent_id=row.agent_id,
        session_id=row.session_key,
        scope=row.scope,
        action=row.action,
        source=row.source,
        memory_version_before=row.version_before,
        memory_version_after=row.version_after,
        before_text=row.before_text,
        after_text=row.after_text,
        created_at=row.created_at.isoformat(),
    )
