"""Searches whose hits have chosen fields of a memory only."""

from __future__ import annotations

import pytest

from memories.serializers.memories import MemoryOut
from memories.store.drafts import FileRef

URL = "/api/v1/search"


@pytest.fixture
def ask(project, alice_api, remember):
    remember("The tide feed is late", title="Tide", files=(FileRef("src/feed.py"),))

    def post(**fields):
        body = {"project_id": str(project.pk), "query": "tide", **fields}
        return alice_api.post(URL, body, format="json")

    return post


def test_a_memory_has_the_chosen_fields_only(ask):
    (hit,) = ask(fields=["title", "id"]).json()["hits"]

    assert set(hit["memory"]) == {"title", "id"}
    assert hit["memory"]["title"] == "Tide"
    assert {"score", "lanes", "snippet", "relevant"} <= set(hit)


def test_files_are_in_the_answer_when_they_are_named(ask):
    (without,) = ask(fields=["id"]).json()["hits"]
    (named,) = ask(fields=["id", "files"]).json()["hits"]

    assert "files" not in without
    assert [each["file_path"] for each in named["files"]] == ["src/feed.py"]
    assert named["memory"]["files"] == named["files"]


def test_without_a_choice_every_field_is_there(ask):
    ask(fields=["id"])  # the choice of one request is not that of the next

    (hit,) = ask().json()["hits"]

    assert set(hit["memory"]) == set(MemoryOut.Meta.fields)
    assert len(hit["files"]) == 1


@pytest.mark.parametrize("fields", [["embedding"], [], "id", ["id", "vector"]])
def test_a_field_that_a_memory_has_not_is_refused(ask, fields):
    refused = ask(fields=fields)

    assert (refused.status_code, refused.json()["code"]) == (400, "invalid")
    assert any(name.startswith("fields") for name in refused.json()["errors"])
