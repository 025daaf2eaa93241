"""A `Session` of the OpenAI Agents SDK: `pip install agent-memory[openai-agents]`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from agent_memory import Client, Problem
from agent_memory.adapters.session_keys import session_key
from agent_memory.shapes import MessageOut

AGENT = "openai-agents"
APPEND = (
    500  # messages of an append, and the rows of a page: docs/limits.md of the service
)
PAGE = 1_000
LAST = 2**31 - 1  # no message has so high a seq
# The key of a message's metadata that keeps an item which the message cannot say in full.
ITEM = "openai_item"
ROLES = {"user": "user", "assistant": "assistant", "tool": "tool"}
PLAIN_FIELDS = {"role", "content"}


class MemorySession:
    """A session of the service as `Runner.run(…, session=…)` takes it.

    Items come back as they were added, but for secrets, which the service masks. Popped and
    cleared items are hidden, not destroyed. Calls run in threads, so that one session can be
    used from several event loops.
    """

    def __init__(
        self,
        session_id: str,
        client: Client,
        *,
        user_id: str = "",
        agent_id: str = AGENT,
        session_settings: Any = None,
    ) -> None:
        self.session_id = session_id
        self.key = session_key(session_id)
        self.session_settings = _read_settings(session_settings)
        self.client = client
        self.user_id = user_id
        self.agent_id = agent_id

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Return the newest items, at most `limit` of them, the oldest first."""
        if limit is None:
            limit = getattr(self.session_settings, "limit", None)
        return await asyncio.to_thread(self._read, limit)

    async def add_items(self, items: Sequence[Any]) -> None:
        await asyncio.to_thread(self._append, items)

    async def pop_item(self) -> Any | None:
        return await asyncio.to_thread(self._pop)

    async def clear_session(self) -> None:
        await asyncio.to_thread(self._hide, 1)

    def _read(self, limit: int | None) -> list[Any]:
        rows: list[MessageOut] = []
        for page in self._pages_from_end(limit):
            rows[:0] = page
        return list(map(item_of, rows))

    def _pages_from_end(self, limit: int | None) -> Iterator[list[MessageOut]]:
        """Yield pages of messages, the last page first, until there are `limit` messages."""
        before, left = LAST, LAST if limit is None else limit
        while left > 0:
            rows = self._page(before_seq=before, limit=min(left, PAGE))
            if not rows:
                return
            yield rows
            before, left = rows[0]["seq"], left - len(rows)

    def _page(self, **query: Any) -> list[MessageOut]:
        try:
            page = self.client.sessions_messages_list(self.key, **query, **self._owner)
        except Problem as problem:
            if problem.status == 404:  # nothing has been added yet
                return []
            raise
        return page["results"]

    def _append(self, items: Sequence[Any]) -> None:
        messages = list(map(message_of, items))
        for n in range(0, len(messages), APPEND):
            self.client.sessions_messages_append(
                self.key,
                agent_id=self.agent_id,
                messages=messages[n : n + APPEND],
                **self._owner,
            )

    def _pop(self) -> Any | None:
        rows = self._page(before_seq=LAST, limit=1)
        if not rows:
            return None
        self._hide(rows[0]["seq"])
        return item_of(rows[0])

    def _hide(self, from_seq: int) -> None:
        try:
            self.client.sessions_messages_delete(
                self.key, from_seq=from_seq, **self._owner
            )
        except Problem as problem:
            if problem.status != 404:
                raise

    @property
    def _owner(self) -> dict[str, Any]:
        return {"user_id": self.user_id} if self.user_id else {}


def message_of(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return an item as a message of the service, with the item where words do not say all."""
    content = item.get("content")
    role = item.get("role")
    if set(item) == PLAIN_FIELDS and role in ROLES and isinstance(content, str):
        return {"role": role, "parts": [{"type": "text", "text": content}]}
    role, parts = _read_parts(item)
    return {"role": role, "parts": parts, "metadata": {ITEM: dict(item)}}


def item_of(row: MessageOut) -> Any:
    """Return the item of a message, also of one that another client has appended."""
    if ITEM in row["metadata"]:
        return row["metadata"][ITEM]
    return {"role": row["role"], "content": row["content"]}


def _read_parts(item: Mapping[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    call = {"id": str(item.get("call_id", "")), "name": str(item.get("name", ""))}
    if item.get("type") == "function_call":
        arguments = item.get("arguments", "")
        return "assistant", [{"type": "tool_call", **call, "arguments": arguments}]
    if item.get("type") == "function_call_output":
        content = "\n".join(_texts(item.get("output")))
        return "tool", [{"type": "tool_result", **call, "content": content}]
    kind = "thinking" if item.get("type") == "reasoning" else "text"
    texts = [*_texts(item.get("content")), *_texts(item.get("summary"))]
    role = ROLES.get(str(item.get("role", "assistant")), "system")
    return role, [{"type": kind, "text": text} for text in texts]


def _texts(value: Any) -> list[str]:
    """Return the texts of a content: a text, or a list of parts."""
    if isinstance(value, str):
        return [value]
    parts = value if isinstance(value, list) else []
    texts = (each.get("text") for each in parts if isinstance(each, Mapping))
    return [text for text in texts if isinstance(text, str)]


def _read_settings(settings: Any) -> Any:
    """Return the SDK's settings for an object like them; raise TypeError for another."""
    if settings is None:
        return None
    # By name: the service has an app that is called as the SDK's package is.
    return import_module("agents").SessionSettings().resolve(settings)
