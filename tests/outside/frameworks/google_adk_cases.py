"""ADK's memory service by the adapter: ADK's own tests, which no source package has, restated.

`run_adapters.py` runs them against a service that it starts.
"""

from __future__ import annotations

import asyncio
import inspect

import pytest
from agent_memory.adapters.google_adk import MemoryService
from google.adk.events.event import Event
from google.adk.memory.base_memory_service import BaseMemoryService
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.session import Session
from google.genai import types
from service_client import client, unique_name


@pytest.fixture
def app():
    return unique_name()


@pytest.fixture
def service():
    return MemoryService(client())


def event(number, text, author="user"):
    parts = [types.Part(text=text)] if text else []
    content = types.Content(role="user", parts=parts)
    time = 1_700_000_000 + number
    return Event(id=f"e{number}", author=author, timestamp=time, content=content)


def session(app, *events, user="alice", name="s1"):
    return Session(id=name, app_name=app, user_id=user, events=list(events))


def add(service, *arguments, **fields):
    asyncio.run(service.add_session_to_memory(session(*arguments, **fields)))


def remember(service, app, *entries, user="alice", **fields):
    asyncio.run(
        service.add_memory(app_name=app, user_id=user, memories=entries, **fields)
    )


def forget(service, app, memory_id, user="alice"):
    asyncio.run(service.delete_memory(app_name=app, user_id=user, memory_id=memory_id))


def search(service, app, query, user="alice"):
    answer = service.search_memory(app_name=app, user_id=user, query=query)
    return asyncio.run(answer).memories


def texts(entries):
    return [entry.content.parts[0].text for entry in entries]


def entry(text, **fields):
    return MemoryEntry(content=types.Content(parts=[types.Part(text=text)]), **fields)


def test_it_has_each_method_of_the_base_class():
    methods = inspect.getmembers(BaseMemoryService, inspect.isfunction)

    own = [name for name, _ in methods if not name.startswith("_")]

    assert [name for name in own if name not in vars(MemoryService)] == []


def test_a_search_finds_an_event_of_a_session(service, app):
    add(service, app, event(1, "The ADK is a great toolkit."), event(2, "I like tea."))

    (found, *_) = search(service, app, "toolkit")

    assert texts([found]) == ["The ADK is a great toolkit."]
    assert found.author == "user"
    assert found.timestamp.startswith("2023-11-14T22:13:21")


def test_an_answer_of_the_model_keeps_its_author_and_role(service, app):
    add(service, app, event(1, "The gate closes at six.", author="porter"))

    (found,) = search(service, app, "gate")

    assert (found.author, found.content.role) == ("porter", "model")


def test_a_session_that_is_added_again_is_stored_once(service, app):
    add(service, app, event(1, "The gate closes at six."))
    add(service, app, event(1, "The gate closes at six."), event(2, "Gate two is new."))

    assert sorted(texts(search(service, app, "gate"))) == [
        "Gate two is new.",
        "The gate closes at six.",
    ]


def test_events_without_text_are_left_out(service, app):
    add(service, app, event(1, ""), Event(id="e2", author="user"))

    assert search(service, app, "user") == []


def test_events_are_added_to_a_session_or_to_none(service, app):
    for name, each in (("s1", event(1, "Red gate.")), (None, event(2, "Blue gate."))):
        asyncio.run(
            service.add_events_to_memory(
                app_name=app, user_id="alice", events=[each], session_id=name
            )
        )

    assert sorted(texts(search(service, app, "gate"))) == ["Blue gate.", "Red gate."]


def test_the_metadata_of_events_come_back(service, app):
    asyncio.run(
        service.add_events_to_memory(
            app_name=app,
            user_id="alice",
            events=[event(1, "Red gate.")],
            custom_metadata={"ticket": 17},
        )
    )

    assert search(service, app, "gate")[0].custom_metadata == {"ticket": 17}


def test_another_user_and_another_app_find_nothing(service, app):
    add(service, app, event(1, "The gate closes at six."))
    remember(service, app, entry("The key of the gate is red."))

    assert search(service, app, "gate", user="charlie") == []
    assert search(service, unique_name(), "gate") == []


def test_a_search_for_nothing_finds_nothing(service, app):
    add(service, app, event(1, "The gate closes at six."))

    assert search(service, app, " ") == []


def test_a_user_without_memories_finds_nothing(service, app):
    assert search(service, app, "gate", user="nobody") == []


def test_an_answer_has_at_most_ten_entries(service, app):
    add(service, app, *(event(n, f"Gate {n} is open.") for n in range(15)))

    assert len(search(service, app, "gate open")) == 10


def test_a_long_event_comes_back_whole(service, app):
    text = "gate " + "word " * 400
    add(service, app, event(1, text.strip()))

    assert texts(search(service, app, "gate")) == [text.strip()]


def test_an_explicit_memory_is_found_with_its_fields(service, app):
    remember(
        service,
        app,
        entry("Tea.", author="alice", timestamp="2026-01-02T03:04:05+00:00"),
        custom_metadata={"kind": "drink"},
    )

    (found,) = search(service, app, "tea")

    assert (found.author, found.custom_metadata["kind"]) == ("alice", "drink")
    assert found.timestamp.startswith("2026-01-02T03:04:05")


@pytest.mark.parametrize("kind", ["event", "memory"])
def test_what_is_deleted_is_found_no_more(service, app, kind):
    if kind == "event":
        add(service, app, event(1, "The gate closes at six."))
    else:
        remember(service, app, entry("The gate closes at six."))
    (found,) = search(service, app, "gate")

    forget(service, app, found.id)

    assert search(service, app, "gate") == []


def test_a_deleted_event_does_not_come_back_with_its_session(service, app):
    add(service, app, event(1, "The gate closes at six."))
    forget(service, app, search(service, app, "gate")[0].id)

    add(service, app, event(1, "The gate closes at six."))

    assert search(service, app, "gate") == []


@pytest.mark.parametrize("kind", ["event", "memory"])
def test_another_user_cannot_delete(service, app, kind):
    if kind == "event":
        add(service, app, event(1, "The gate closes at six."))
    else:
        remember(service, app, entry("The gate closes at six."))
    (found,) = search(service, app, "gate")

    forget(service, app, found.id, user="charlie")
    forget(service, unique_name(), found.id)

    assert texts(search(service, app, "gate")) == ["The gate closes at six."]


def test_deleting_what_is_not_there_does_nothing(service, app):
    forget(service, app, None)
    forget(service, app, "00000000-0000-0000-0000-000000000000")
    forget(service, app, f"{app}:s1#1")
