"""The store `simple`: a sliding window over the messages, without summaries or versions."""

from __future__ import annotations

from datetime import datetime

from common.caller import Caller
from conversations.agent_memory import constraints, texts
from conversations.agent_memory.pair import MemoryPair, resolve_pair
from conversations.assembly.assemble import assemble
from conversations.formats.message import ChatMessage
from conversations.messages import append
from conversations.messages.fork import to_chat
from conversations.messages.review import build_review_text
from conversations.models import Session
from conversations.sessions import lifecycle, lookup, session_list, stats, writers
from conversations.sessions.lifecycle import SessionDraft
from conversations.stores.contract import (
    ConstraintEntry,
    ListOptions,
    SessionInfo,
    SessionRef,
)
from conversations.stores.write_context import (
    change_source_from_context,
    session_id_from_context,
)
from projects.models import Project


class SimpleStore:
    """Provider, SessionManager, ProfileStore, ConstraintStore and Reviewer of one project."""

    name = "simple"

    def __init__(self, project: Project, caller: Caller) -> None:
        self.project = project
        self.caller = caller

    # Provider

    def bootstrap(self, session: SessionRef) -> None:
        self._bootstrap(session)

    def append(self, session: SessionRef, *messages: ChatMessage) -> None:
        row = self._find(session)
        if row is None or writers.is_foreign(row, self.caller):
            row = self._bootstrap(session)
        batch = append.prepare(self.project, messages)
        append.append(self.project, row, batch, self.caller)

    def assemble(
        self, session: SessionRef, budget: int, fresh_tail: int
    ) -> list[ChatMessage]:
        row = self._get(session)
        found = assemble(row, budget, self.caller, fresh_tail=fresh_tail)
        return [each.message for each in found.messages]

    def stats(self, session: SessionRef) -> stats.SessionStats:
        return stats.stats_of(self._find(session))

    def close(self) -> None:
        """Nothing is held: the rows are in the database of the service."""

    # SessionManager

    def save_info(self, info: SessionInfo) -> None:
        ref = SessionRef(info.id, info.agent_id, info.user_id, info.channel)
        row = self._find(ref) or self._bootstrap(ref)
        changes = {"title": info.title, "archived": info.archived}
        lifecycle.update_session(row, changes, self.caller)

    def load_info(self, session_id: str) -> SessionInfo:
        return _info_of(lookup.find_session(self.project, session_id, self.caller))

    def list_info(self, options: ListOptions) -> list[SessionInfo]:
        filters = session_list.SessionFilters(
            agent_id=options.agent_id,
            user_id=options.user_id,
            include_archived=options.include_archived,
        )
        rows = session_list.list_sessions(self.project, filters, self.caller)
        end = options.offset + options.limit if options.limit else None
        return [_info_of(row) for row in rows[options.offset : end]]

    def load_history(self, session_id: str) -> list[ChatMessage]:
        row = lookup.find_session(self.project, session_id, self.caller)
        messages = row.messages.light().visible().order_by("seq")
        return [to_chat(message) for message in messages]

    # ProfileStore

    def get_profile(self, user_id: str, agent_id: str) -> str:
        return texts.read_text(self._pair(user_id, agent_id), "profile").text

    def set_profile(self, user_id: str, agent_id: str, content: str) -> None:
        self._set_text(user_id, agent_id, "profile", content)

    def get_agent_soul(self, user_id: str, agent_id: str) -> str:
        return texts.read_text(self._pair(user_id, agent_id), "soul").text

    def set_agent_soul(self, user_id: str, agent_id: str, content: str) -> None:
        self._set_text(user_id, agent_id, "soul", content)

    # ConstraintStore

    def get_constraints(self, user_id: str, agent_id: str) -> list[ConstraintEntry]:
        pair = self._pair(user_id, agent_id)
        return constraint_entries(constraints.list_constraints(pair).constraints)

    def add_constraint(
        self, user_id: str, agent_id: str, text: str
    ) -> list[ConstraintEntry]:
        pair = self._pair(user_id, agent_id)
        found = constraints.add_constraint(
            pair,
            text,
            self.caller,
            source=change_source_from_context(),
            session=self._session_of_call(user_id),
        )
        return constraint_entries(found.constraints)

    def remove_constraint(
        self, user_id: str, agent_id: str, constraint_id: str
    ) -> list[ConstraintEntry]:
        pair = self._pair(user_id, agent_id)
        found = constraints.remove_constraint(
            pair,
            constraint_id,
            self.caller,
            source=change_source_from_context(),
            session=self._session_of_call(user_id),
        )
        return constraint_entries(found.constraints)

    # Reviewer

    def build_review_context(
        self, session: SessionRef, since: datetime | None = None
    ) -> str:
        return build_review_text(self._get(session), since)

    # Helpers

    def _bootstrap(self, session: SessionRef) -> Session:
        draft = SessionDraft(
            session.id,
            agent_id=session.agent_id,
            user_id=session.user_id,
            channel=session.channel,
        )
        row, _ = lifecycle.bootstrap(self.project, draft, self.caller)
        return self._of_project(row)

    def _find(self, session: SessionRef) -> Session | None:
        row = lookup.look_up(
            self.project, session.id, self.caller, user_id=session.user_id
        )
        return self._of_project(row) if row else None

    def _get(self, session: SessionRef) -> Session:
        row = self._find(session)
        if row is None:
            raise lookup.not_found_error(session.id)
        return row

    def _of_project(self, row: Session) -> Session:
        row.project = self.project
        return row

    def _pair(self, user_id: str, agent_id: str) -> MemoryPair:
        return resolve_pair(
            self.project, self.caller, user_id=user_id, agent_id=agent_id
        )

    def _session_of_call(self, user_id: str) -> Session | None:
        key = session_id_from_context()
        if not key:
            return None
        return lookup.look_up(self.project, key, self.caller, user_id=user_id)

    def _set_text(self, user_id: str, agent_id: str, scope: str, text: str) -> None:
        texts.set_text(
            self._pair(user_id, agent_id),
            scope,
            text,
            self.caller,
            source=change_source_from_context(),
            session=self._session_of_call(user_id),
        )


def _info_of(row: Session) -> SessionInfo:
    return SessionInfo(
        id=row.key,
        agent_id=row.agent_id,
        user_id=row.user_id,
        channel=row.channel,
        title=row.title,
        created_at=row.created_at,
        last_active=row.last_active,
        archived=row.is_archived,
    )


def constraint_entries(values: list[constraints.Constraint]) -> list[ConstraintEntry]:
    return [ConstraintEntry(**value) for value in values]
