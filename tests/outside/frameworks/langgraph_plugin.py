"""Run LangGraph's tests of its PostgreSQL store against the adapter.

The adapter takes the place of `PostgresStore` and `AsyncPostgresStore`; the name of a test's
database is the name of the store. No test connects to PostgreSQL.
"""

from __future__ import annotations

import inspect
import types
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from agent_memory.adapters import langgraph as adapter
from langgraph.checkpoint import postgres as checkpoints
from langgraph.store import postgres
from langgraph.store.base import GetOp
from service_client import client

assert checkpoints  # it reads psycopg's names before they are replaced
INTERNALS = "it is about the SQL and the migrations of PostgresStore"
EMBEDDINGS = "it compares with the test's own embeddings; the service makes its own"
EXPIRED = "expired items are never returned"
FIELDS = "it compares scores of fields that have a vector each; the service embeds an item whole"
SKIPPED = {
    "test_escape_like_literal": INTERNALS,
    "test_namespace_match_pattern": INTERNALS,
    "test_nonnull_migrations": INTERNALS,
    "test_abatch_uses_single_pool_checkout": "it is about a pool of connections",
    "test_omit_expired_search_pagination": "it sets the times of rows by SQL",
    "test_omit_expired_disabled_preserves_expired_rows": EXPIRED,
    "test_vector_store_initialization": EMBEDDINGS,
    "test_scores": EMBEDDINGS,
    "test_embed_with_path": FIELDS,
    "test_embed_with_path_sync": FIELDS,
    "test_embed_with_path_operation_config": FIELDS,
}
SAME = "the same test as before: the adapter has one {}"
VARIANTS = {
    "store": "way of connecting",
    "vector_store": "kind of vector and distance",
    "vector_type": "kind of vector and distance",
    "distance_type": "kind of vector and distance",
}


class Silence:
    """A connection or cursor on which every command does nothing."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Nothing was opened."""

    @classmethod
    def connect(cls, *_, **__):
        return cls()

    def execute(self, *_, **__):
        """There is no database."""


class AsyncSilence:
    def __class_getitem__(cls, row):
        return cls

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        """Nothing was opened."""

    @classmethod
    async def connect(cls, *_, **__):
        return cls()

    async def execute(self, *_, **__):
        """There is no database."""


def options_of(address, index, ttl):
    fields = (index or {}).get("fields") or adapter.WHOLE
    name = address.partition("?")[0].rpartition("/")[2]
    return {"name": name, "fields": fields, "ttl": ttl}


class Store(adapter.MemoryStore):
    MIGRATIONS = ()

    @classmethod
    @contextmanager
    def from_conn_string(cls, address, *, index=None, ttl=None, **_):
        yield cls(client(), **options_of(address, index, ttl))

    def setup(self):
        """The service is set up."""

    start_ttl_sweeper = stop_ttl_sweeper = setup

    def _cursor(self):
        return Silence()


class AsyncStore(adapter.AsyncMemoryStore):
    MIGRATIONS = ()

    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, address, *, index=None, ttl=None, **_):
        yield cls(client(), **options_of(address, index, ttl))

    async def setup(self):
        """The service is set up."""

    start_ttl_sweeper = stop_ttl_sweeper = setup

    def _cursor(self):
        return AsyncSilence()


psycopg.Connection, psycopg.AsyncConnection = Silence, AsyncSilence
postgres.PostgresStore, postgres.AsyncPostgresStore = Store, AsyncStore
EXPIRED_IDS: dict[str, str] = {}


def find(store, namespace, key):
    name = adapter.name_of(GetOp(namespace, key))
    return name, store.items.facts.find([name]).get(name)


def expire(store, namespace, key):
    name, row = find(store, namespace, key)
    past = datetime.now(UTC) - timedelta(minutes=1)
    client().memories_update(row["id"], expires_at=past.isoformat())
    EXPIRED_IDS[name] = row["id"]


def is_kept(store, namespace, key):
    """Whether an expired row is still there: its history says who changed it last."""
    name, _ = find(store, namespace, key)
    (newest, *_) = client().memories_history(EXPIRED_IDS[name])["results"]
    return newest["action"] == "update"


def expiry(store, namespace, key):
    name, row = find(store, namespace, key)
    return row["expires_at"] if row else EXPIRED_IDS[name]


def as_async(function):
    async def run(*arguments):
        return function(*arguments)

    return run


REPLACED = {"expire_now": expire, "row_exists": is_kept, "stored_expires_at": expiry}


def pytest_collection_modifyitems(items):
    seen = set()
    for item in items:
        replace_sql(item.module)
        name = getattr(item, "originalname", item.name)
        if reason := SKIPPED.get(name) or reason_of_repeat(item, name, seen):
            item.add_marker(pytest.mark.skip(reason=reason))


def replace_sql(module: types.ModuleType):
    for name, function in REPLACED.items():
        if hasattr(module, f"_{name}"):
            setattr(module, f"_{name}", function)
        if hasattr(module, f"_a{name}"):
            setattr(module, f"_a{name}", as_async(function))


def reason_of_repeat(item, name, seen):
    """Why a test is a repetition: it differs in what the adapter does not have."""
    params = item.callspec.params if hasattr(item, "callspec") else {}
    told = {key: str(value) for key, value in params.items() if key not in VARIANTS}
    case = (inspect.getfile(item.function), name, *sorted(told.items()))
    varied = [VARIANTS[key] for key in params if key in VARIANTS]
    if case in seen and varied:
        return SAME.format(varied[0])
    seen.add(case)
    return None
