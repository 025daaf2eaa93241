"""`explain` with a memory's id: which filter or lane kept it out of the answer."""

from __future__ import annotations

import uuid

import pytest
from django.utils import timezone

from common.caller import SYSTEM
from inference.embedding import fake
from memories.lifecycle import delete
from memories.models import Memory, MemoryVector
from memories.scopes import Scope
from projects.models import Project
from search import postings, semantic

URL = "/api/v1/search"
TEXT = "the cache is warmed at night"


@pytest.fixture
def why(bob_api, project):
    """Why Bob's search did not find a memory: `why(memory, tags=["x"])`."""

    def ask(memory, query="warmed cache", **fields):
        asked = {"project_id": str(project.pk), "query": query, **fields}
        answer = bob_api.post(URL, asked | {"explain": str(memory.pk)}, format="json")
        assert answer.status_code == 200, answer.json()
        return answer.json()["explanation"]["memory"]

    return ask


@pytest.fixture
def kept(remember):
    return remember(TEXT, tags=("ops",), agent_id="ci")


def test_what_is_in_the_answer_is_said_to_be(why, kept):
    assert why(kept) == {
        "id": str(kept.pk),
        "in_answer": True,
        "dropped_by": None,
        "why": "",
    }


def test_which_words_were_asked_for(bob_api, project, remember, count, monkeypatch):
    for n in range(3):
        remember(f"warmed cache {n} " + " ".join(f"word{n}x{m}" for m in range(40)))
        remember(f"warmed place {n}")
    count()
    monkeypatch.setattr(postings, "CANDIDATE_ROWS", 3)
    monkeypatch.setattr(postings, "MIN_ROWS", 2)
    monkeypatch.setattr(semantic, "DEPTH", 2)

    def lane(words, **fields):
        asked = {"project_id": str(project.pk), "query": words, "explain": True}
        answer = bob_api.post(URL, asked | fields, format="json").json()
        return answer["explanation"]["keyword_lane"]

    assert lane("cache") == {"asked": ["cach"], "all_rows": True}
    assert lane("warmed cache") == {"asked": ["cach"], "all_rows": False}
    assert lane("warmed cache", mode="semantic") is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tags", ["other"]),
        ("kinds", ["fact"]),
        ("memory_types", ["warning"]),
        ("agent_ids", ["somebody"]),
        ("file_paths", ["src/"]),
        ("sensitivities", ["public"]),
        ("date_from", "2100-01-01T00:00:00Z"),
        ("date_to", "2000-01-01T00:00:00Z"),
    ],
)
def test_a_filter_is_named(why, kept, name, value):
    dropped = why(kept, **{name: value})

    assert dropped["dropped_by"] == name
    assert not dropped["in_answer"]


def test_any_of_several_tags_is_enough_when_asked_so(why, kept):
    assert why(kept, tags=["ops", "x"])["dropped_by"] == "tags"
    assert why(kept, tags=["ops", "x"], tags_match="any")["in_answer"]


def test_a_sensitive_memory_must_be_asked_for(why, remember):
    memory = remember(TEXT, sensitivity="sensitive")

    assert why(memory)["dropped_by"] == "sensitivities"
    assert why(memory, sensitivities=["sensitive"])["in_answer"]


def test_a_scope_that_was_not_named_is(why, remember):
    memory = remember(TEXT, scope=Scope("user", "u1"))

    assert why(memory)["dropped_by"] == "scope"
    assert "u1" in why(memory)["why"]


def test_a_duplicate_and_an_archived_one(why, kept, remember, alice):
    twin = remember(TEXT, tags=("ops",), agent_id="ci")
    assert why(twin)["dropped_by"] == "include_duplicates"

    Memory.objects.filter(pk=kept.pk).update(archived_at=timezone.now())
    assert why(kept)["dropped_by"] == "state"


def test_a_phrase_that_it_does_not_hold(why, kept):
    assert why(kept, '"cold cache"', syntax="operators")["dropped_by"] == "query"
    assert why(kept, "cache -night", syntax="operators")["dropped_by"] == "query"


def test_a_phrase_behind_the_places_that_are_kept_of_a_word(why, remember):
    log = "\n".join(f"ERROR worker {n} failed" for n in range(300))
    memory = remember(f"{log}\nERROR worker gazelle failed")

    dropped = why(memory, '"worker gazelle"', syntax="operators")
    assert "too far back in the text" in dropped["why"]


def test_a_score_below_the_least_and_a_place_behind_the_limit(why, kept, remember):
    remember("warmed cache")

    assert why(kept, min_score=0.99)["dropped_by"] == "min_score"
    behind = why(kept, limit=1)
    assert (behind["dropped_by"], behind["why"]) == ("limit", "it is number 2")


def test_both_lanes_say_what_they_thought_of_it(why, kept, remember, monkeypatch):
    monkeypatch.setattr(semantic, "DEPTH", 1)
    remember("warmed cache")

    lanes = why(kept)
    assert lanes["dropped_by"] == "lanes"
    assert "not among its candidates; semantic: 0." in lanes["why"]

    MemoryVector.objects.filter(memory=kept).delete()
    assert why(kept, "zebra")["why"] == (
        "keyword: it has none of the words; semantic: it has no vector yet"
    )
    assert why(kept, "zebra", mode="keyword")["why"] == (
        "keyword: it has none of the words"
    )


def test_a_duplicate_is_said_to_have_no_vector_of_its_own(why, kept, remember):
    again = remember(TEXT)

    told = why(again, "zebra", mode="semantic", include_duplicates=True)

    assert told["why"] == (
        "semantic: it is a duplicate, and only its original is embedded"
    )


def test_a_lane_without_its_model_is_said_to_have_none(why, kept):
    with fake.outage():
        assert why(kept, "zebra")["why"] == (
            "keyword: it has none of the words; semantic: the model did not answer"
        )


class TestOthers:
    """Nothing is told of what the caller may not see."""

    @pytest.fixture
    def ask(self, project):
        def post(client, memory_id, **fields):
            asked = {"project_id": str(project.pk), "query": "warmed cache", **fields}
            return client.post(URL, asked | {"explain": memory_id}, format="json")

        return post

    def test_an_unknown_an_invisible_and_a_deleted_one_are_all_missing(
        self, ask, bob_api, remember, other_project, kept
    ):
        charlies = remember(TEXT, where=other_project)
        delete.delete_memory(kept.pk, SYSTEM)

        answers = [ask(bob_api, str(pk)) for pk in (uuid.uuid4(), charlies.pk, kept.pk)]

        assert {answer.status_code for answer in answers} == {404}
        assert len({answer.json()["detail"] for answer in answers}) == 1

    def test_another_users_is_missing_for_a_bound_key(
        self, ask, client_of, project, remember
    ):
        memory = remember(TEXT, scope=Scope("user", "u1"))

        bound = client_of(project, user_id="u2")

        assert ask(bound, str(memory.pk)).status_code == 404

    def test_a_bound_key_is_told_no_counts_of_rows_that_it_may_not_read(
        self, client_of, project, kept
    ):
        bound = client_of(project, user_id="u2")
        asked = {"project_id": str(project.pk), "query": "warmed cache"}

        shown = bound.post(URL, asked | {"explain": True}, format="json").json()

        assert shown["explanation"]["semantic_lane"] == {"how": "exact"}
        assert shown["explanation"]["keyword_lane"] is None
        assert all(set(term) == {"lexeme"} for term in shown["explanation"]["terms"])

    def test_a_memory_of_another_project_that_both_may_read(
        self, ask, client_of, project, organization, remember
    ):
        neighbour = Project.objects.create(organization=organization, name="beta")
        memory = remember(TEXT, where=neighbour)

        shown = ask(client_of(project, neighbour), str(memory.pk)).json()

        assert shown["explanation"]["memory"]["dropped_by"] == "project_id"

    def test_a_shared_memory_of_another_project_is_outside_the_named_scope(
        self, ask, client_of, project, organization, remember
    ):
        neighbour = Project.objects.create(organization=organization, name="beta")
        shared = Scope("org", str(organization.pk))
        memory = remember(TEXT, where=neighbour, scope=shared)

        client = client_of(project, neighbour)
        shown = ask(client, str(memory.pk), scope={"kind": "org"}).json()

        assert shown["explanation"]["memory"]["dropped_by"] == "scope"

    @pytest.mark.parametrize("value", ["warm", 7, [], {"id": 1}])
    def test_anything_else_is_refused(self, ask, bob_api, value):
        answer = ask(bob_api, value)

        assert answer.status_code == 400
        assert answer.json()["errors"]["explain"] == [
            "Must be true, false or a memory's id."
        ]
