"""mem0's own client against the service: each of its methods, sync and async.

mem0 publishes no tests that call a server, so these are ours. `run_adapters.py` runs them
against a service that it starts.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import tempfile

# Before mem0 is imported: it asks nobody, and writes nothing into the home of the user.
os.environ["MEM0_TELEMETRY"] = "False"
os.environ["MEM0_DIR"] = tempfile.mkdtemp(prefix="mem0-")

import pytest
from mem0 import AsyncMemoryClient, MemoryClient
from mem0.client.project import AsyncProject, Project
from mem0.client.types import (
    AddMemoryOptions,
    DeleteAllMemoryOptions,
    GetAllMemoryOptions,
    SearchMemoryOptions,
    UpdateMemoryOptions,
)
from mem0.exceptions import (
    AuthenticationError,
    MemoryError,
    MemoryNotFoundError,
    ValidationError,
)
from service_client import client as service_client
from service_client import unique_name

ANN = {"user_id": "ann"}
CALLED = set()
KINDS = {"sync": (MemoryClient, Project), "async": (AsyncMemoryClient, AsyncProject)}


class Calls:
    """The methods of a client of either kind, as plain functions."""

    def __init__(self, target, loop):
        self.target, self.loop = target, loop

    def __getattr__(self, name):
        method = getattr(self.target, name)

        def call(*arguments, **options):
            CALLED.add((type(self.target), name))
            answer = method(*arguments, **options)
            if inspect.isawaitable(answer):
                return self.loop.run_until_complete(answer)
            return answer

        return call


def secret_of(project_id, role):
    key = service_client().keys_issue(
        name=unique_name(), role=role, projects=[project_id]
    )
    return key["secret"]


@pytest.fixture(params=KINDS)
def connect(request):
    """Connect to a new project: `connect(role)`."""
    loop = asyncio.new_event_loop()
    project = service_client().projects_create(name=f"of {unique_name()}")
    opened = []

    def connect(role="owner", secret=""):
        kind, _ = KINDS[request.param]
        secret = secret or secret_of(project["id"], role)
        opened.append(kind(api_key=secret, host=os.environ["OUTSIDE_URL"]))
        return Calls(opened[-1], loop)

    yield connect
    for each in opened:
        if isinstance(each, AsyncMemoryClient):
            loop.run_until_complete(each.async_client.aclose())
    loop.close()


@pytest.fixture
def mem0(connect):
    return connect()


def add(mem0, text, **ids):
    (found,) = mem0.add(text, infer=False, **ids)["results"]
    return found["id"]


def texts(page):
    return [each["memory"] for each in page["results"]]


class TestConnecting:
    def test_the_key_names_the_project(self, mem0):
        assert mem0.target.org_id
        assert mem0.target.project.project_id == mem0.target.project_id

    def test_a_wrong_key_is_refused(self, connect):
        with pytest.raises(ValueError, match="Send `Authorization"):
            connect(secret="am_wrong")


class TestMemories:
    def test_add_get_and_search(self, mem0):
        talk = [
            {"role": "user", "content": "I moved to Lisbon in May."},
            {"role": "assistant", "content": "I shall look for flights from Lisbon."},
        ]
        options = AddMemoryOptions(
            metadata={"trip": 7},
            infer=False,
            timestamp=1_700_000_000,
            expiration_date="2999-01-31",
        )

        added = mem0.add(talk, options, user_id="ann", agent_id="bot")["results"]
        shown = mem0.get(added[0]["id"])
        found = mem0.search(
            "Where does she live?", SearchMemoryOptions(filters=ANN, top_k=1)
        )

        assert [each["event"] for each in added] == ["ADD", "ADD"]
        assert shown["memory"] == talk[0]["content"]
        assert (shown["user_id"], shown["agent_id"]) == ("ann", "bot")
        assert shown["metadata"] == {"trip": 7}
        assert shown["created_at"].startswith("2023-11-14T22:13:20")
        assert shown["expiration_date"] == "2999-01-31"
        assert len(found["results"]) == 1 and 0 < found["results"][0]["score"] <= 1

    def test_get_all_goes_over_pages(self, mem0):
        for number in range(3):
            add(mem0, f"Note {number}", user_id="ann")

        first = mem0.get_all(GetAllMemoryOptions(filters=ANN, page=1, page_size=2))
        second = mem0.get_all(filters=ANN, page=2, page_size=2)

        assert (first["count"], texts(first)) == (3, ["Note 2", "Note 1"])
        assert first["next"] and not first["previous"]
        assert (second["next"], texts(second)) == (None, ["Note 0"])

    def test_filters_join_conditions(self, mem0):
        add(mem0, "Ann", user_id="ann", metadata={"topic": "food"})
        add(mem0, "Ben", user_id="ben")
        filters = {
            "OR": [
                {"AND": [ANN, {"metadata": {"topic": "food"}}]},
                {"user_id": {"in": ["ben"]}},
            ]
        }

        assert sorted(texts(mem0.get_all(filters=filters))) == ["Ann", "Ben"]
        excluded = {"AND": [{"user_id": "*"}, {"NOT": [ANN]}]}
        assert texts(mem0.get_all(filters=excluded)) == ["Ben"]
        with pytest.raises(ValidationError) as refusal:
            mem0.search("x", filters={"color": "red"})
        assert refusal.value.details["code"] == "unsupported_filter"

    def test_update_delete_and_history(self, mem0):
        memory_id = add(mem0, "I live in Porto.", user_id="ann")

        mem0.update(memory_id, UpdateMemoryOptions(text="I live in Braga."))
        shown = mem0.update(memory_id, metadata={"a": 1}, expiration_date=None)
        mem0.delete(memory_id, delete_linked=True)
        events = [each["event"] for each in mem0.history(memory_id)]

        assert (shown["memory"], shown["metadata"]) == ("I live in Braga.", {"a": 1})
        assert events == ["ADD", "UPDATE", "UPDATE", "DELETE"]
        for again in (mem0.get, mem0.delete):
            with pytest.raises(MemoryNotFoundError):
                again(memory_id)

    def test_delete_all(self, mem0):
        add(mem0, "Ann", user_id="ann")
        add(mem0, "Ben", user_id="ben")
        add(mem0, "Cleo", user_id="cleo")

        mem0.delete_all(user_id="ann")
        mem0.delete_all(DeleteAllMemoryOptions(filters={"user_id": "ben"}))

        assert texts(mem0.get_all(filters={"user_id": "*"})) == ["Cleo"]
        with pytest.raises(ValidationError):
            mem0.delete_all()

    def test_batches(self, mem0):
        ids = [add(mem0, name, user_id="ann") for name in ("One", "Two")]

        said = mem0.batch_update(
            [{"memory_id": each, "text": f"Changed {each}"} for each in ids]
        )
        mem0.batch_delete([{"memory_id": ids[0]}])

        assert said["message"] == "Successfully updated 2 memories"
        assert texts(mem0.get_all(filters=ANN)) == [f"Changed {ids[1]}"]

    def test_feedback(self, mem0):
        memory_id = add(mem0, "Ann", user_id="ann")

        assert mem0.feedback(memory_id, "positive", "She said so.")["id"] == memory_id
        with pytest.raises(ValidationError, match="update or delete"):
            mem0.feedback(memory_id, "NEGATIVE")


class TestUsers:
    def test_they_are_listed_and_deleted(self, mem0):
        add(mem0, "Ann", user_id="ann")
        add(mem0, "Bot", agent_id="bot")

        assert [each["name"] for each in mem0.users()["results"]] == ["ann", "bot"]
        mem0.delete_users(user_id="ann")
        assert [each["name"] for each in mem0.users()["results"]] == ["bot"]
        with pytest.raises(MemoryNotFoundError):
            mem0.delete_users(user_id="nobody")

    def test_reset_deletes_them_all(self, mem0):
        add(mem0, "Ann", user_id="ann", run_id="r")
        add(mem0, "Shop", app_id="shop")

        mem0.reset()

        assert mem0.users()["results"] == []


class TestRoles:
    def test_a_viewer_only_reads(self, mem0, connect):
        memory_id = add(mem0, "Ann", user_id="ann")
        viewer = connect("viewer")

        assert texts(viewer.get_all(filters=ANN)) == ["Ann"]
        with pytest.raises(AuthenticationError):
            viewer.delete(memory_id)


class TestProjects:
    def test_it_is_read_and_deleted(self, mem0):
        project = Calls(mem0.target.project, mem0.loop)
        shown = project.get(fields=["name"])

        assert shown == mem0.get_project(fields=["name"])
        with pytest.raises(AuthenticationError):
            project.create("another")  # this key is of one project
        assert project.delete()["message"]
        with pytest.raises(MemoryNotFoundError):
            mem0.users()


NOT_OFFERED = {
    "create_memory_export": [{"type": "object"}],
    "get_memory_export": [],
    "get_summary": [{}],
    "get_profile": ["ann"],
    "generate_profile": ["ann"],
    "get_profile_settings": [],
    "update_profile_settings": [True],
    "sample_profiles": [3],
    "get_profile_job": ["one"],
    "create_webhook": ["http://localhost", "all", None, ["memory_add"]],
    "get_webhooks": [None],
    "update_webhook": [1, "all"],
    "delete_webhook": [1],
}
NOT_OFFERED_OF_PROJECTS = {
    "update": ["Be brief."],
    "get_members": [],
    "add_member": ["ann@example.com"],
    "update_member": ["ann@example.com", "OWNER"],
    "remove_member": ["ann@example.com"],
}


class TestWhatIsNotOffered:
    def refuse(self, call, arguments):
        with pytest.raises(MemoryError) as refusal:
            call(*arguments)
        assert refusal.value.debug_info["status_code"] == 501
        assert "not_offered" in f"{refusal.value.details}{refusal.value.message}"

    @pytest.mark.parametrize("name", NOT_OFFERED)
    def test_a_method_says_so(self, mem0, name):
        own = mem0.target.project_id
        arguments = [own if each is None else each for each in NOT_OFFERED[name]]

        self.refuse(getattr(mem0, name), arguments)

    @pytest.mark.parametrize("name", NOT_OFFERED_OF_PROJECTS)
    def test_a_method_of_a_project_says_so(self, mem0, name):
        project = Calls(mem0.target.project, mem0.loop)

        self.refuse(getattr(project, name), NOT_OFFERED_OF_PROJECTS[name])

    def test_the_settings_of_a_project_are_others(self, mem0):
        with pytest.raises(MemoryError, match="settings"):
            mem0.update_project(custom_instructions="Be brief.")

    def test_the_client_itself_has_no_chat(self, mem0):
        with pytest.raises(NotImplementedError):
            mem0.chat()


@pytest.mark.parametrize("kind", KINDS)
def test_every_method_was_called(kind):
    """This test is the last one of the file."""
    missing = {
        f"{each.__name__}.{name}"
        for each in KINDS[kind]
        for name, _ in inspect.getmembers(each, inspect.isfunction)
        if not name.startswith("_") and (each, name) not in CALLED
    }

    assert not missing
