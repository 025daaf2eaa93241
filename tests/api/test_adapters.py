"""What the client's adapters keep for a framework, without the framework.

`tests/outside/run_adapters.py` runs the frameworks' own tests against the adapters.
"""

from __future__ import annotations

import asyncio
from urllib.parse import quote

import httpx
import pytest
from agent_memory import Client, Problem
from agent_memory.adapters import facts
from agent_memory.adapters.files import FileRefusal, MemoryFiles
from agent_memory.adapters.openai_agents import MemorySession
from agent_memory.adapters.session_keys import MAX_KEY, session_key
from django import test

from access.models import ApiKey
from common.caller import Role
from conversations.models import Message
from memories.models import Memory

pytestmark = pytest.mark.django_db
ALICE = {"kind": "user", "user_id": "alice"}


class ServiceTransport(httpx.BaseTransport):
    """The service in this process and in the transaction of the test."""

    def handle_request(self, request):
        answer = test.Client().generic(
            request.method,
            request.url.raw_path.decode(),
            request.read(),
            content_type=request.headers.get("Content-Type", ""),
            headers=dict(request.headers),
        )
        return httpx.Response(
            answer.status_code, headers=dict(answer.headers), content=answer.content
        )


@pytest.fixture
def client_of(project):
    """A client of a key of the project, bound to a user or to none."""

    def client_of(user_id=""):
        key, secret = ApiKey.new(name="app", role=Role.WRITER, user_id=user_id)
        key.save()
        key.projects.set([project])
        return Client(
            "http://testserver",
            secret,
            project=project.name,
            attempts=1,
            transport=ServiceTransport(),
        )

    return client_of


@pytest.fixture
def client(client_of):
    return client_of()


@pytest.fixture
def files(client):
    return MemoryFiles(client)


@pytest.fixture
def run(monkeypatch):
    """Run a call of a session without threads and loops, which have other connections."""

    async def call_here(function, *arguments):
        return function(*arguments)

    def run(call):
        with pytest.raises(StopIteration) as end:
            call.send(None)
        return end.value.value

    monkeypatch.setattr(asyncio, "to_thread", call_here)
    return run


class TestFiles:
    def test_a_file_is_a_memory_that_a_search_finds(self, client, files):
        files.create("/memories/gate.txt", "The gate closes at six.")

        (hit,) = client.search(query="gate")["hits"]

        assert hit["memory"]["title"] == "/memories/gate.txt"
        assert hit["memory"]["content"] == "The gate closes at six."

    def test_each_edit_stands_in_its_history(self, client, files):
        files.create("/memories/gate.txt", "It closes at six.\n")
        files.str_replace("/memories/gate.txt", "six", "seven")
        files.insert("/memories/gate.txt", 0, "The gate")

        (row,) = files.read_tree().rows.values()
        changes = client.memories_history(row["id"])["results"]

        assert client.memories_read(row["id"])["value"] == (
            "The gate\nIt closes at seven.\n"
        )
        assert [each["action"] for each in changes] == ["update", "update", "create"]

    @pytest.mark.parametrize("text", ["", "\n\n", "a\r\nb\r\n", "x" * 60_000])
    def test_a_text_is_kept_as_it_is(self, client, files, text):
        files.create("/memories/a.txt", text)

        (row,) = files.read_tree().rows.values()

        assert client.memories_read(row["id"])["value"] == text

    def test_a_folder_shows_two_levels_and_nothing_hidden(self, files):
        for name in ("a.txt", "b/c.txt", "b/d/e.txt", ".git/config"):
            files.create(f"/memories/{name}", "1234")

        shown = files.view("/memories").splitlines()[1:]

        assert shown == [
            "16B\t/memories",
            "4B\t/memories/a.txt",
            "8B\t/memories/b/",
            "4B\t/memories/b/c.txt",
            "4B\t/memories/b/d/",
        ]

    def test_a_renamed_folder_takes_its_files_along(self, files):
        files.create("/memories/old/a.txt", "first")
        files.create("/memories/old/b.txt", "second")

        files.rename("/memories/old", "/memories/new")

        paths = sorted(files.read_tree().rows)
        assert paths == ["/memories/new/a.txt", "/memories/new/b.txt"]
        old = Memory.objects.get(key="/memories/old/a.txt")
        assert old.superseded_by.key == "/memories/new/a.txt"

    @pytest.mark.parametrize(
        ("operate", "arguments", "reason"),
        [
            ("create", ["/etc/passwd", "x"], "must start with /memories"),
            ("view", ["/memories/../etc/passwd"], "would escape"),
            ("create", ["/memories/a.txt/b.txt", "x"], "a.txt is a file"),
            ("create", ["/memories/a.txt", "x"], "already exists"),
            ("rename", ["/memories/dir", "/memories/dir/sub"], "inside of"),
            ("rename", ["/memories/a.txt", "/memories/dir"], "already exists"),
            ("str_replace", ["/memories/dir", "a", "b"], "is not a file"),
            ("insert", ["/memories/none.txt", 0, "b"], "does not exist"),
            ("delete", ["/memories/."], "Cannot delete"),
        ],
    )
    def test_what_is_impossible_is_refused_with_its_reason(
        self, files, operate, arguments, reason
    ):
        files.create("/memories/a.txt", "text")
        files.create("/memories/dir/b.txt", "text")
        before = Memory.objects.count()

        with pytest.raises(FileRefusal, match=reason):
            getattr(files, operate)(*arguments)

        assert Memory.objects.count() == before

    def test_an_edit_does_not_overwrite_one_that_came_between(self, client, files):
        files.create("/memories/a.txt", "one two")
        place, row = files._find_file("/memories/a.txt")
        files.str_replace("/memories/a.txt", "one", "1")

        with pytest.raises(Problem) as refused:
            files._change(row, place, "one 2")

        assert refused.value.status == 409
        assert client.memories_read(row["id"])["value"] == "1 two"

    def test_charlie_sees_no_file_of_alice(self, client_of):
        alice = MemoryFiles(client_of("alice"), scope=ALICE)
        alice.create("/memories/diary.txt", "I like tea.")
        charlie = MemoryFiles(client_of("charlie"), scope=ALICE)

        with pytest.raises(Problem) as refused:
            charlie.view("/memories/diary.txt")

        assert refused.value.status == 404
        assert "I like tea." in alice.view("/memories/diary.txt")


class TestNames:
    def test_many_names_are_asked_for_in_parts_that_fit_a_url(self):
        names = [f"名前 {n} {'x' * 200}" for n in range(250)]

        parts = list(facts.split(names))

        assert [name for part in parts for name in part] == names
        lengths = [len(quote(facts.write_json(part))) for part in parts]
        assert max(lengths) <= facts.MAX_FILTER

    def test_the_longest_name_fits_a_url(self):
        name = facts.stored_name("😀" * facts.MAX_KEY)

        assert len(quote(facts.write_json([name]))) <= facts.MAX_FILTER

    def test_a_longer_name_is_told_by_its_hash_and_found(self, client):
        store = facts.NamedFacts(client, label="test", scope={"kind": "workspace"})
        long = "n" * 5_000
        store.add(long, content="far", value=1, metadata={})

        assert store.find([long, "other"])[long]["value"] == 1

    def test_metadata_that_are_gone_are_asked_for_in_vain(self, client):
        store = facts.NamedFacts(client, label="test", scope={"kind": "workspace"})
        store.add("n", content="far", value=1, metadata={"color": "red"})
        (row,) = store.list()

        store.change(row, "n", content="far", value=2, metadata={"size": 3})

        assert list(store.list({"color": "red"})) == []
        assert [each["value"] for each in store.list({"size": 3})] == [2]

    def test_a_deleted_fact_is_not_changed(self, client):
        store = facts.NamedFacts(client, label="test", scope={"kind": "workspace"})
        store.add("n", content="far", value=1, metadata={})
        (row,) = store.list()
        client.memories_delete(row["id"])

        assert not store.change(row, "n", content="near", value=2, metadata={})

    def test_a_session_may_have_any_name(self):
        assert session_key("a:b@c_1") == "a:b@c_1"
        assert session_key("a/b~2F") == "a~2Fb~7E2F"
        assert len(session_key("ä" * MAX_KEY)) <= MAX_KEY


ITEMS = [
    {"role": "user", "content": "Where is the gate?"},
    {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "?"}],
    },
    {"type": "function_call", "call_id": "c1", "name": "find", "arguments": '{"a": 1}'},
    {"type": "function_call_output", "call_id": "c1", "output": "North."},
    {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [
            {"type": "output_text", "text": "In the north.", "annotations": []}
        ],
    },
    {"role": "developer", "content": ""},
]


class TestSession:
    def test_items_come_back_as_they_were_added(self, client, run):
        session = MemorySession("any/name", client)

        run(session.add_items(ITEMS[:2]))
        run(session.add_items(ITEMS[2:]))

        assert run(session.get_items()) == ITEMS

    def test_their_words_are_messages_of_the_service(self, client, run):
        run(MemorySession("s1", client).add_items(ITEMS))

        rows = Message.objects.order_by("seq").values_list("role", "text")

        assert list(rows) == [
            ("user", "Where is the gate?"),
            ("assistant", ""),
            ("assistant", 'find {"a": 1}'),
            ("tool", "North."),
            ("assistant", "In the north."),
            ("system", ""),
        ]

    def test_a_limit_keeps_the_newest(self, client, run):
        session = MemorySession("s1", client)
        run(session.add_items(ITEMS))

        assert run(session.get_items(2)) == ITEMS[-2:]
        assert run(session.get_items(0)) == []

    def test_pages_are_read_from_the_end(self, client, run, monkeypatch):
        monkeypatch.setattr("agent_memory.adapters.openai_agents.PAGE", 2)
        monkeypatch.setattr("agent_memory.adapters.openai_agents.APPEND", 4)
        session = MemorySession("s1", client)
        run(session.add_items(ITEMS))

        assert run(session.get_items()) == ITEMS
        assert run(session.get_items(3)) == ITEMS[-3:]

    def test_popped_and_cleared_items_are_gone(self, client, run):
        session = MemorySession("s1", client)
        run(session.add_items(ITEMS))

        assert run(session.pop_item()) == ITEMS[-1]
        assert run(session.get_items()) == ITEMS[:-1]
        run(session.clear_session())
        assert run(session.get_items()) == []
        assert run(session.pop_item()) is None

    def test_a_session_that_is_not_there_is_empty(self, client, run):
        session = MemorySession("s1", client)

        run(session.clear_session())

        assert run(session.get_items()) == []

    def test_charlie_sees_no_item_of_alice(self, client_of, run):
        alice = MemorySession("s1", client_of("alice"), user_id="alice")
        run(alice.add_items(ITEMS))

        charlie = MemorySession("s1", client_of("charlie"), user_id="charlie")

        assert run(charlie.get_items()) == []
        assert run(alice.get_items()) == ITEMS
