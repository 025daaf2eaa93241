"""Google ADK's memory service over the service: `pip install agent-memory[google-adk]`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from google.adk.events.event import Event
from google.adk.memory.base_memory_service import (
    BaseMemoryService,
    SearchMemoryResponse,
)
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.session import Session
from google.genai import types

from agent_memory import Client, Problem
from agent_memory.adapters.session_keys import session_key
from agent_memory.shapes import HitOut, ScopeRequest, SessionHitOut

APP = "adk_app"
AUTHOR = "author"
UNNAMED = "unnamed"  # the session of events that name none
APPEND = 500  # messages of an append: docs/limits.md of the service
LIMIT = 10  # entries of an answer, as of ADK's own service


class MemoryService(BaseMemoryService):
    """Sessions become sessions of the service, and explicit memories become memories.

    An event is stored once, however often its session is added. A search finds both, of this
    app and user only. Calls run in threads.
    """

    def __init__(self, client: Client, *, limit: int = LIMIT) -> None:
        self.client = client
        self.limit = limit

    async def add_session_to_memory(self, session: Session) -> None:
        await self.add_events_to_memory(
            app_name=session.app_name,
            user_id=session.user_id,
            session_id=session.id,
            events=session.events,
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        messages = [
            _message_of(each, custom_metadata) for each in events if _text(each)
        ]
        await asyncio.to_thread(
            self._append, app_name, user_id, session_id or UNNAMED, messages
        )

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        for each in memories:
            await asyncio.to_thread(
                self._store, app_name, user_id, each, custom_metadata or {}
            )

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        return await asyncio.to_thread(self._search, app_name, user_id, query)

    async def delete_memory(
        self, *, app_name: str, user_id: str, memory_id: str | None = None
    ) -> None:
        """Delete a memory, or replace the text of an event for good."""
        if memory_id:
            await asyncio.to_thread(self._delete, app_name, user_id, memory_id)

    def _append(
        self, app: str, user: str, session: str, messages: Sequence[dict[str, Any]]
    ) -> None:
        for n in range(0, len(messages), APPEND):
            self.client.sessions_messages_append(
                session_key(f"{app}:{session}"),
                agent_id=app,
                user_id=user,
                channel="adk",
                messages=list(messages[n : n + APPEND]),
            )

    def _store(
        self, app: str, user: str, entry: MemoryEntry, more: Mapping[str, object]
    ) -> None:
        author = {AUTHOR: entry.author} if entry.author else {}
        self.client.memories_create(
            kind="fact",  # a note has a least length
            content=_words(entry.content),
            scope=_scope(user),
            metadata={**more, **entry.custom_metadata, **author, APP: app},
            occurred_at=_aware(entry.timestamp),
        )

    def _search(self, app: str, user: str, query: str) -> SearchMemoryResponse:
        if not query.strip():
            return SearchMemoryResponse()
        memories = self.client.search(
            query=query,
            scope=_scope(user),
            metadata={APP: app},
            limit=self.limit,
        )
        messages = self.client.sessions_search(
            query=query, agent_id=app, user_id=user, scope="messages", limit=self.limit
        )
        entries = [(hit["score"], self._entry_of(hit)) for hit in memories["hits"]]
        entries += [
            (hit["score"], self._entry_of_message(hit, user))
            for hit in messages["results"]
        ]
        entries.sort(key=lambda scored: -scored[0])
        return SearchMemoryResponse(
            memories=[each for _, each in entries[: self.limit]]
        )

    def _entry_of(self, hit: HitOut) -> MemoryEntry:
        memory = hit["memory"]
        metadata = dict(memory["metadata"])
        return MemoryEntry(
            id=memory["id"],
            content=_content(memory["content"]),
            author=metadata.pop(AUTHOR, None),
            timestamp=memory["occurred_at"] or memory["created_at"],
            custom_metadata=metadata,
        )

    def _entry_of_message(self, hit: SessionHitOut, user: str) -> MemoryEntry:
        """Return the whole message; a hit has only the words around what was found."""
        page = self.client.sessions_messages_list(
            hit["session"], user_id=user, after_seq=hit["seq"] - 1, limit=1
        )
        message = page["results"][0]
        metadata = dict(message["metadata"])
        return MemoryEntry(
            id=f"{hit['session']}#{hit['seq']}",
            content=_content(message["content"], _role(message["role"] == "user")),
            author=metadata.pop(AUTHOR, None),
            timestamp=message["created_at"],
            custom_metadata=metadata,
        )

    def _delete(self, app: str, user: str, memory_id: str) -> None:
        try:
            if "#" in memory_id:
                self._redact(app, user, memory_id)
            else:
                self._delete_memory(app, user, memory_id)
        except Problem as problem:
            if problem.status != 404:
                raise

    def _redact(self, app: str, user: str, memory_id: str) -> None:
        session, _, seq = memory_id.rpartition("#")
        if session.startswith(session_key(f"{app}:")):
            reason = "Deleted by the app."
            self.client.sessions_redact(session, seq, user_id=user, reason=reason)

    def _delete_memory(self, app: str, user: str, memory_id: str) -> None:
        memory = self.client.memories_read(memory_id)
        is_own = memory["metadata"].get(APP) == app and memory["scope"] == _scope(user)
        if is_own:
            self.client.memories_delete(memory_id)


def _scope(user: str) -> ScopeRequest:
    return {"kind": "user", "user_id": user}


def _message_of(
    event: Event, custom_metadata: Mapping[str, object] | None
) -> dict[str, Any]:
    return {
        "role": "user" if event.author == "user" else "assistant",
        "parts": [{"type": "text", "text": _text(event)}],
        "external_id": event.id,
        "created_at": datetime.fromtimestamp(event.timestamp, UTC).isoformat(),
        "metadata": {**(custom_metadata or {}), AUTHOR: event.author},
    }


def _text(event: Event) -> str:
    return _words(event.content) if event.content else ""


def _words(content: types.Content) -> str:
    return "\n".join(part.text for part in content.parts or [] if part.text)


def _content(text: str, role: str = "user") -> types.Content:
    return types.Content(role=role, parts=[types.Part(text=text)])


def _role(is_user: bool) -> str:
    return "user" if is_user else "model"


def _aware(timestamp: str | None) -> str | None:
    """Return a time with its zone; ADK writes the local time without one."""
    if timestamp is None:
        return None
    return datetime.fromisoformat(timestamp).astimezone().isoformat()
