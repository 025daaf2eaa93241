"""Demands of document 000, the scoped memory store."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from memories import scoped_store, tasks
from memories.models import Memory
from memories.scoped_store import ScopedQuery
from projects.models import Project
from tests.agents.scripted_endpoint import fail
from tests.conversations.conftest import SessionApi

pytestmark = pytest.mark.django_db
FACT = "The invoice export needs the ledger of the first tenant."
FIRST = {"kind": "workspace", "workspace_id": "tenant-1"}
SECOND = {"kind": "workspace", "workspace_id": "tenant-2"}


def test_a_read_in_one_workspace_shows_no_row_of_another(api, remember):
    remember(FACT, scope=FIRST)

    digest = api.post("context", query=FACT, scope=SECOND, parts=["digest"]).json()
    task = api.post("context", task_description=FACT, scope=SECOND).json()

    assert FACT not in digest["text"]
    assert FACT not in task["text"]


def test_a_memory_of_the_organization_is_read_in_its_other_projects(
    remember, project, client_of
):
    other = Project.objects.create(organization=project.organization, name="beta")
    remember(FACT, scope={"kind": "org", "org_id": project.organization.slug})

    both = SessionApi(client_of(project, other), other)
    found = both.get("memories", scope="org").json()

    assert [one["content"] for one in found["results"]] == [FACT]


def test_a_read_without_a_scope_mixes_in_no_named_workspace(api, remember):
    remember(FACT, scope=FIRST)

    answer = api.get("memories")

    assert answer.status_code == 400 or not answer.json()["results"]


def test_a_short_text_of_any_language_is_a_memory(api):
    answer = api.post("memories", content="缓存已禁用。", memory_type="learning")

    assert answer.status_code == 201


def test_what_was_written_again_is_retrieved_by_what_it_said(api, remember):
    remember(FACT, tags=["first"])
    remember(FACT, tags=["second"])

    found = api.get("memories", scope="workspace", tag="second").json()

    assert [one["content"] for one in found["results"]] == [FACT]


def test_what_lasts_is_retrieved_after_its_copy_expired(api, remember):
    soon = timezone.now() + timedelta(hours=1)
    first = remember(FACT, expires_at=soon.isoformat())
    remember(FACT)
    is_first = Memory.objects.filter(pk=first["id"], expires_at__isnull=False)
    is_first.update(expires_at=timezone.now())

    found = api.get("memories", scope="workspace").json()

    assert [one["content"] for one in found["results"]] == [FACT]


@pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason="issue 48: the caller's function over HTTP",
)
def test_a_caller_whose_function_writes_the_text_is_given_the_sources(api, remember):
    source = remember(FACT)

    answer = api.post("memories/compact", source_ids=[source["id"]], dry_run=True)

    assert answer.status_code == 200
    assert FACT in [one["content"] for one in answer.json()["sources"]]


def test_a_compaction_whose_model_fails_keeps_the_cause_with_the_sources(
    api, remember, model
):
    sources = [remember(f"{FACT} Part {part} of it.")["id"] for part in ("one", "two")]
    model.script_json(*[fail(500, "the model is asleep")] * 9)

    answer = api.post("memories/compact", source_ids=sources, summarize=True).json()

    kept = answer["memory"]["compaction"] if "memory" in answer else answer
    assert "the model is asleep" in str(kept)


class Shelf(dict):
    """An adapter as in section 8.9, over a dictionary."""

    def insert(self, entry):
        self[entry.id] = entry

    def fetch_by_id(self, entry_id):
        return self.get(entry_id)

    def fetch_many(self, query):
        found = [entry for entry in self.values() if entry.scope in query.scopes]
        return found[: query.limit]


def create_store(**config):
    make = getattr(scoped_store, "create_memory_store", None)
    assert make, "There is no factory of a store."
    return make(**config)


@pytest.mark.xfail(
    strict=True, raises=AssertionError, reason="issue 48: adapters of the store"
)
def test_a_store_keeps_its_entries_in_the_adapter_that_it_is_given():
    shelf = Shelf()
    store = create_store(adapter=shelf)

    written = store.write(FIRST, FACT)

    assert shelf[written.id].content == FACT
    assert store.get(written.id).content == FACT


@pytest.mark.xfail(
    strict=True, raises=AssertionError, reason="issue 48: the factory of the store"
)
def test_the_factory_makes_a_store_with_the_eight_operations():
    store = create_store(adapter=Shelf())

    eight = {"write", "retrieve", "get", "update", "delete", "delete_by_scope"}
    eight |= {"promote", "compact"}
    assert not {verb for verb in eight if not callable(getattr(store, verb, None))}


@pytest.mark.xfail(
    strict=True, raises=AssertionError, reason="issue 48: inclusion rules can be off"
)
def test_without_inclusion_rules_a_read_has_its_own_scope_only():
    store = create_store(adapter=Shelf(), apply_inclusion_rules=False)
    store.write({"kind": "session", "session_id": "s1"}, FACT)
    user = {"kind": "user", "user_id": "mia"}

    query = ScopedQuery(user, include_narrower=True, session_id="s1")

    assert store.retrieve(query) == []


def test_a_scheduled_compaction_keeps_the_names_and_hours(
    options, remember, run_jobs, model
):
    options(compaction={"enabled": True, "older_than_days": 7, "at_least": 3})
    user = {"kind": "user", "user_id": "mia"}
    for host, hour in (("atlas", "04:15"), ("boreas", "09:40"), ("ceres", "23:05")):
        remember(f"The backup of host {host}-7 starts at {hour}.", scope=user)
    Memory.objects.update(created_at=timezone.now() - timedelta(days=8))
    model.script_json({"text": "Summary of the notes in short."})

    tasks.compact()
    run_jobs()

    kept = " ".join(Memory.objects.current().values_list("content", flat=True))
    assert model.json_requests, "The job asked no model."
    literals = ("atlas-7", "04:15", "boreas-7", "09:40", "ceres-7", "23:05")
    assert not [each for each in literals if each not in kept]


def test_a_memory_has_every_field_of_an_entry(remember):
    entry = {"id", "scope", "content", "tags", "created_at", "updated_at", "expires_at"}
    entry |= {"promoted_from", "compacted_from", "metadata"}

    assert entry <= set(remember(FACT))


def test_a_memory_of_a_session_is_read_in_the_next_turn_and_promoted_at_the_end(
    api, remember, on_row
):
    user = {"kind": "user", "user_id": "mia"}
    written = remember(FACT, scope={"kind": "session", "session_id": "s1"})

    next_turn = api.get("memories", scope="session", session_id="s1").json()
    on_row("post", f"memories/{written['id']}/promote", target_scope=user)
    later = api.get("memories", scope="user", user_id="mia").json()

    assert [one["id"] for one in next_turn["results"]] == [written["id"]]
    assert [one["promoted_from"] for one in later["results"]] == [written["id"]]


def test_a_promotion_may_replace_its_original_with_other_words_and_tags(
    remember, on_row
):
    written = remember(FACT, scope={"kind": "session", "session_id": "s1"}, tags=["a"])
    wish = {"content": "The export needs the ledger.", "tags": ["b"]}

    made = on_row(
        "post",
        f"memories/{written['id']}/promote",
        target_scope={"kind": "workspace"},
        delete_original=True,
        **wish,
    ).json()["memory"]

    assert {name: made[name] for name in wish} == wish
    assert on_row("get", f"memories/{written['id']}").status_code == 404
