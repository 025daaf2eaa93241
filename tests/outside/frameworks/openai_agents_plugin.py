"""Run the tests of sessions of the OpenAI Agents SDK against the adapter.

The adapter takes the place of `SQLiteSession`; a database file is a part of the key.
"""

from __future__ import annotations

import inspect

import pytest
from agent_memory.adapters.openai_agents import MemorySession
from service_client import client, unique_name

import agents

CONNECTIONS = "it is about the connections of SQLiteSession to its database"
SKIPPED = {
    "_connection": CONNECTIONS,
    "sqlite3.": CONNECTIONS,
    "_lock": CONNECTIONS,
    "is closed": "it is about closing SQLiteSession; the client is closed, not a session",
    "session_settings_default(": "it is about SQLiteSession's default; ours is the protocol's",
    "corrupt": "it writes broken rows into SQLiteSession's database",
}


class Session(MemorySession):
    def __init__(self, session_id, db_path=":memory:", session_settings=None):
        place = unique_name() if db_path == ":memory:" else str(db_path)
        key = f"{place}:{session_id}"
        super().__init__(key, client(), session_settings=session_settings)

    def close(self):
        """The client is shared by all tests."""


agents.SQLiteSession = Session


def pytest_collection_modifyitems(items):
    for item in items:
        source = inspect.getsource(item.function)
        for word, reason in SKIPPED.items():
            if word in source:
                item.add_marker(pytest.mark.skip(reason=reason))
                break
