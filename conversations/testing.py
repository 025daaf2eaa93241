"""The conformance suite of the session-memory contract (seed 002), for tests of any store.

Each check raises AssertionError with a sentence. The optional checks run where the store has
the capability.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from common.errors import Refusal
from conversations.compaction.compact import CompactionMode
from conversations.formats.message import ChatMessage
from conversations.stores.capabilities import capabilities_of
from conversations.stores.contract import ListOptions, SearchQuery, SessionRef
from conversations.stores.write_context import with_change_source

SESSION = SessionRef("test:cli:1:main", "test", "1", "cli")
START = datetime(2026, 1, 1, 12, tzinfo=UTC)
FUTURE = datetime(2100, 1, 1, tzinfo=UTC)


def run_conformance(store: Any) -> list[str]:
    """Check a store that has no session yet; return the capabilities that were checked."""
    have = capabilities_of(store)
    check_provider(store)
    for name, check in OPTIONAL.items():
        if name in have:
            check(store)
    store.close()
    store.close()
    return have


def _require(condition: object, sentence: str) -> None:
    if not condition:
        raise AssertionError(sentence)


def check_provider(store: Any) -> None:
    """Bootstrap twice, append five messages, assemble and count."""
    _require(store.name, "A store has a name.")
    store.bootstrap(SESSION)
    store.bootstrap(SESSION)
    for position, letter in enumerate("ABCDE"):
        text = {"type": "text", "text": f"message {letter}"}
        moment = START + timedelta(seconds=position)
        store.append(SESSION, ChatMessage("user", (text,), created_at=moment))
    texts = [each.text for each in store.assemble(SESSION, 100_000, 0)]
    _require(texts[-5:] == [f"message {x}" for x in "ABCDE"], "Messages stay in order.")
    _require(len(store.assemble(SESSION, 100_000, 3)) >= 3, "The tail is whole.")
    _require(len(store.assemble(SESSION, 10, 0)) < 5, "The budget holds.")
    stats = store.stats(SESSION)
    _require(stats.message_count >= 5 and stats.token_count > 0, "Stats count.")
    unknown = store.stats(SessionRef("test:cli:1:unknown", "test", "1"))
    _require(unknown.message_count == 0, "An unknown session has zeros.")


def check_compactor(store: Any) -> None:
    store.needs_compaction(SESSION, 0.75)
    result = store.compact(SESSION, CompactionMode.INCREMENTAL)
    _require(result.tokens_before >= result.tokens_after, "A compaction adds nothing.")


def check_searcher(store: Any) -> None:
    hits = store.search(SESSION, SearchQuery("message", limit=10))
    _require(hits, "A stored word is found.")
    _require(all(hit.source_type and hit.content for hit in hits), "A hit has a text.")


def check_explorer(store: Any) -> None:
    for ask in (store.describe, lambda name: store.expand(name, 100)):
        try:
            ask("nonexistent_summary")
        except Refusal:
            continue
        raise AssertionError("An unknown summary is an error.")


def check_profiles(store: Any) -> None:
    user, agent = SESSION.user_id, SESSION.agent_id
    _require(store.get_profile(user, agent) == "", "A missing profile is empty.")
    store.set_profile(user, agent, "likes Go")
    store.set_profile(user, agent, "prefers Rust now")
    store.set_agent_soul(user, agent, "You are friendly and concise.")
    store.set_agent_soul(user, agent, "Be formal.")
    profile, soul = (
        store.get_profile(user, agent),
        store.get_agent_soul(user, agent),
    )
    _require(profile == "prefers Rust now", "A profile is replaced.")
    _require(soul == "Be formal.", "A soul is replaced, and the profile stays.")


def check_constraints(store: Any) -> None:
    """Add two constraints as the user, and remove the first."""
    pair = SESSION.user_id, SESSION.agent_id
    with with_change_source("user"):
        (first,) = store.add_constraint(*pair, "Constraint 1")
        store.add_constraint(*pair, "Constraint 2")
        left = store.remove_constraint(*pair, first.id)
    _require([each.text for each in left] == ["Constraint 2"], "One is removed.")
    _require(store.get_constraints(*pair) == left, "The list is kept.")


def check_versions(store: Any) -> None:
    """Read a text as it was; the changelog has the newest change first."""
    pair = "versions", SESSION.agent_id
    store.set_profile(*pair, "likes Go")
    store.set_profile(*pair, "prefers Rust now")
    _require(store.get_profile_at(*pair, 1) == "likes Go", "A version is kept.")
    newest, first = store.read_changelog(*pair, "profile", 10)
    _require(
        (first.action, newest.action) == ("create", "update"), "Actions are named."
    )
    _require(newest.memory_version_after == 2, "Each write raises the version.")


def check_snapshots(store: Any) -> None:
    """Freeze a session, write, and advance it."""
    names = SESSION.id, SESSION.user_id, SESSION.agent_id
    frozen = store.get_or_create_session_snapshot(*names).version
    store.set_profile(SESSION.user_id, SESSION.agent_id, "likes Zig")
    same = store.get_or_create_session_snapshot(*names).version
    _require(same == frozen, "A write without the session leaves it frozen.")
    store.advance_session_snapshot(*names)
    later = store.get_or_create_session_snapshot(*names).version
    _require(later > frozen, "An advanced session sees the newest version.")


def check_manager(store: Any) -> None:
    info = store.load_info(SESSION.id)
    store.save_info(type(info)(**{**vars(info), "title": "Test Session"}))
    _require(store.load_info(SESSION.id).title == "Test Session", "A title is kept.")
    _require(store.list_info(ListOptions(SESSION.agent_id)), "An agent has sessions.")
    _require(len(store.load_history(SESSION.id)) >= 5, "The history is whole.")


def check_reviewer(store: Any) -> None:
    _require(store.build_review_context(SESSION), "There is a text to review.")
    _require(store.build_review_context(SESSION, FUTURE) == "", "Nothing is newer.")


OPTIONAL = {
    "compactor": check_compactor,
    "searcher": check_searcher,
    "explorer": check_explorer,
    "profile_store": check_profiles,
    "constraint_store": check_constraints,
    "changelog_reader": check_versions,
    "session_snapshot_store": check_snapshots,
    "session_manager": check_manager,
    "reviewer": check_reviewer,
}
