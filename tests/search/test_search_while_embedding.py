"""Until a text is embedded, a search ranks it by its words and says how many texts wait."""

from __future__ import annotations

import pytest

from jobs.models import Job

LARGE = 21


@pytest.fixture
def ask(alice_api, project):
    def ask(query, **fields):
        body = {"project_id": str(project.pk), "query": query, "limit": 30} | fields
        return alice_api.post("/api/v1/search", body, format="json").json()

    return ask


@pytest.fixture(autouse=True)
def _memories(alice_api, project):
    """Two texts with vectors, then a batch without."""
    for text in (
        "The harbour is far from here",
        "Lunch is served at noon in the kitchen",
    ):
        body = {
            "project_id": str(project.pk),
            "memory_type": "learning",
            "content": text,
        }
        alice_api.post("/api/v1/memories", body, format="json")
    batch = [f"The crane of the harbour lifts container {n}." for n in range(LARGE)]
    items = [{"memory_type": "learning", "content": text} for text in batch]
    body = {"project_id": str(project.pk), "memories": items}
    alice_api.post("/api/v1/memories/batch", body, format="json")


def test_the_best_words_come_first_although_other_rows_have_vectors(ask):
    answer = ask("crane of the harbour")

    first = [hit["memory"]["content"] for hit in answer["hits"][:LARGE]]
    assert all("crane" in text for text in first)
    assert f"{LARGE} of the searched texts wait for a vector" in answer["notes"][0]


def test_the_note_does_not_depend_on_a_job(ask):
    Job.objects.all().delete()

    assert f"{LARGE} of the searched texts" in ask("crane of the harbour")["notes"][0]


def test_nothing_waits_when_all_are_embedded(ask, run_jobs):
    run_jobs()

    assert ask("crane of the harbour")["notes"] == []


@pytest.mark.parametrize("mode", ["keyword", "semantic"])
def test_one_lane_alone_has_no_rows_to_mend(ask, mode):
    assert ask("crane of the harbour", mode=mode)["notes"] == []
