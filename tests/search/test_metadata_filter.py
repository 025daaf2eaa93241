"""Searches and lists that are filtered by metadata."""

from __future__ import annotations

import json

import pytest
from django.db import connection

from memories import metadata_filter
from memories.models import Memory
from memories.scopes import Scope

SEARCH = "/api/v1/search"
LIST = "/api/v1/memories"
STORED = {
    "early": {"ticket": 17, "stage": "open", "due": "2026-01-05", "17": "digits"},
    "late": {"ticket": 40, "stage": "done", "due": "2026-03-01", "is_urgent": True},
    "text": {"ticket": "17", "stage": "open", "owner": None},
    "inner": {"ticket": {"id": 17}, "stage": ["open"], "content__in": "odd"},
    "bare": {},
}


@pytest.fixture
def stored(remember):
    return {
        name: str(remember(f"Tide notes, {name}", metadata=metadata).pk)
        for name, metadata in STORED.items()
    }


@pytest.fixture(params=["search", "search by words", "list"])
def ask(request, project, alice_api):
    """The answer to a request with the filter: of a search, or of a list."""

    def post(asked, **fields):
        body = {"project_id": str(project.pk), "metadata": asked}
        if request.param == "list":
            text = asked if isinstance(asked, str) else json.dumps(asked)
            return alice_api.get(LIST, body | {"metadata": text} | fields)
        mode = "keyword" if request.param == "search by words" else "hybrid"
        body |= {"query": "tide notes", "mode": mode}
        return alice_api.post(SEARCH, body | fields, format="json")

    return post


@pytest.fixture
def found(ask, stored):
    """The names of the memories that pass the filter."""
    names = {pk: name for name, pk in stored.items()}

    def names_of(asked):
        answer = ask(asked)
        assert answer.status_code == 200, answer.content
        rows = answer.json()
        ids = [hit["memory"]["id"] for hit in rows.get("hits", ())]
        ids += [row["id"] for row in rows.get("results", ())]
        return {names[pk] for pk in ids}

    return names_of


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ({}, set(STORED)),
        ({"ticket": 17}, {"early"}),
        ({"ticket": 17.0}, {"early"}),
        ({"ticket": "17"}, {"text"}),
        ({"17": "digits"}, {"early"}),
        ({"stage": "open"}, {"early", "text"}),
        ({"stage": "open", "ticket": 17}, {"early"}),
        ({"is_urgent": True}, {"late"}),
        ({"is_urgent": False}, set()),
        ({"owner": None}, {"text"}),
        ({"content__in": "odd"}, {"inner"}),
        ({"stage": {"in": ["open", "done"]}}, {"early", "text", "late"}),
        ({"ticket": {"in": [17, "17"]}}, {"early", "text"}),
        ({"owner": {"exists": True}}, {"text"}),
        ({"ticket": {"exists": False}}, {"bare"}),
        ({"17": {"exists": True}}, {"early"}),
        ({"stage": {"in": ["open"], "exists": True}}, {"early", "text"}),
        ({"nobody": "has it"}, set()),
    ],
)
def test_it_leaves_the_memories_whose_metadata_match(found, asked, names):
    assert found(asked) == names


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"ticket": [17]}, 'send {"in": [...]}'),
        ({"ticket": {"gte": 17}}, "an object with in or exists"),
        ({"ticket": {}}, "an object with in or exists"),
        ({"ticket": {"in": 17}}, "in is a list of 1 to 100 values"),
        ({"ticket": {"in": []}}, "in is a list of 1 to 100 values"),
        ({"ticket": {"in": [0] * 101}}, "in is a list of 1 to 100 values"),
        ({"ticket": {"in": [{}]}}, "a value is a text, a number"),
        ({"ticket": {"exists": 1}}, "exists is true or false"),
        ({"ticket": 1e301}, "a number is between"),
        ({"ticket": "t" * 1_001}, "1000 characters at most"),
        ({"": 1}, "A key has 1 to 1000 characters"),
        ({"t" * 1_001: 1}, "A key has 1 to 1000 characters"),
        ({f"key{n}": 1 for n in range(11)}, "Filter by 10 keys at most"),
        ("no object", None),
    ],
)
def test_a_filter_that_cannot_be_read_is_refused_with_the_mend(
    ask, stored, asked, words
):
    refused = ask(asked)

    problem = refused.json()
    assert (refused.status_code, problem["code"]) == (400, "invalid")
    assert (words or "") in " ".join(problem["errors"]["metadata"])


@pytest.mark.parametrize("text", ['{"a": "\\u0000"}', '{"\\ud800": 1}', '{"a": NaN}'])
def test_no_list_fails_on_escaped_characters(project, alice_api, text):
    asked = {"project_id": str(project.pk), "metadata": text}

    assert alice_api.get(LIST, asked).status_code == 400


def test_it_opens_no_scope_of_another_user(project, client_of, remember):
    remember("Tide notes of Bob", metadata={"ticket": 17}, scope=Scope("user", "bob"))
    bound = client_of(project, user_id="alice")
    body = {
        "project_id": str(project.pk),
        "query": "tide",
        "metadata": {"ticket": 17},
    }

    assert bound.post(SEARCH, body, format="json").json()["hits"] == []


def test_charlie_finds_nothing(charlie_api, project, stored):
    body = {"project_id": str(project.pk), "query": "tide", "metadata": {"ticket": 17}}

    assert charlie_api.post(SEARCH, body, format="json").status_code == 404


@pytest.mark.parametrize("asked", [{"n": 17}, {"n": {"in": [17, 18]}}])
def test_equality_is_served_by_an_index(project, stored, asked):
    (condition,) = metadata_filter.parse(asked)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")

    plan = Memory.objects.order_by().filter(condition.condition).explain()

    assert "memory_metadata" in plan
