"""Context variables: the agent, session and user of a call, and whose words a write has.

A store reads them for what its methods do not take (seed 002).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

_agent_id: ContextVar[str] = ContextVar("conversations_agent_id", default="")
_session_id: ContextVar[str] = ContextVar("conversations_session_id", default="")
_user_id: ContextVar[str] = ContextVar("conversations_user_id", default="")
_change_source: ContextVar[str] = ContextVar(
    "conversations_change_source", default="agent"
)


@contextmanager
def _set(variable: ContextVar[str], value: str) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def with_agent_id(agent_id: str) -> AbstractContextManager[None]:
    return _set(_agent_id, agent_id)


def with_session_id(session_id: str) -> AbstractContextManager[None]:
    return _set(_session_id, session_id)


def with_user_id(user_id: str) -> AbstractContextManager[None]:
    return _set(_user_id, user_id)


def with_change_source(source: str) -> AbstractContextManager[None]:
    return _set(_change_source, source)


def agent_id_from_context() -> str:
    return _agent_id.get()


def session_id_from_context() -> str:
    return _session_id.get()


def user_id_from_context() -> str:
    return _user_id.get()


def change_source_from_context() -> str:
    """Return whose words a write has; by default the agent's."""
    return _change_source.get()
