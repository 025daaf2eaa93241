"""`POST /context`: each part in one text, with its items and what is left out."""

from __future__ import annotations

import pytest

from context.decisions import decide
from memories.store import write
from memories.store.drafts import Draft
from tests.mcp_server.hooks.test_decisions import FIRST, REPORT, SECOND
from tests.mcp_server.hooks.test_decisions import keep as keep

pytestmark = pytest.mark.django_db


@pytest.fixture
def ask(bob_api, project):
    def ask(api=bob_api, **body):
        body = {"project_id": str(project.pk), **body}
        return api.post("/api/v1/context", body, format="json")

    return ask


def test_decisions_are_items_with_what_made_them_answers(keep, ask):
    keep("first", FIRST, "10")
    keep("second", SECOND, "17")

    answer = ask(query=REPORT, parts=["decisions"]).json()

    assert [item["part"] for item in answer["items"]] == ["decisions"] * 2
    assert all("rare words" in item["why"] for item in answer["items"])
    assert all(item["text"] in answer["text"] for item in answer["items"])
    assert answer["text"].index("2026-11-10") < answer["text"].index("2026-11-17")
    assert answer["memories"] == [] and answer["digest"] is None


def test_what_is_near_and_decides_nothing_is_left_out_with_its_figures(keep, ask):
    keep("first", FIRST, "10")

    answer = ask(query="Draw the colours of the chart anew, please, this month").json()

    assert not [item for item in answer["items"] if item["part"] == "decisions"]
    [left, *_] = [one for one in answer["left_out"] if one["part"] == "decisions"]
    assert left["why"].startswith("evidence ")


def test_the_statements_do_not_grow_with_the_conversations(
    keep, project, alice, django_assert_max_num_queries
):
    keep("first", FIRST, "10")
    keep("second", SECOND, "17")
    for number in range(8):
        keep(f"other {number}", FIRST, "09")

    with django_assert_max_num_queries(50):
        assert decide.find(project, REPORT, alice).given


def test_the_session_that_asks_is_not_quoted_to_itself(keep, ask):
    keep("first", FIRST, "10")

    assert ask(query=REPORT, parts=["decisions"]).json()["items"]
    own = ask(query=REPORT, parts=["decisions"], session="first").json()
    assert own["items"] == []


def test_the_words_of_requirement_003_are_accepted(ask, alice, project):
    draft = Draft("The invoice export retries twice.", memory_type="learning")
    write.store(project, draft, alice)

    ours = ask(query="invoice export", limit=1).json()
    theirs = ask(task_description="invoice export", top_k=1).json()

    assert theirs["text"] == ours["text"]
    assert {"memories", "playbook_entries", "files"} <= theirs.keys()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "query"),
        ({"parts": ["fix"]}, "failed"),
        ({"parts": ["everything"]}, "parts.0"),
        ({"query": "x" * 10_001}, "query"),
        ({"query": "x", "taks": 1}, "taks"),
    ],
)
def test_a_request_that_cannot_be_answered_names_its_field(ask, body, field):
    answer = ask(**body)

    assert answer.status_code == 400
    assert field in answer.json()["errors"]


def test_a_digest_may_have_any_query(ask):
    assert ask(query="x" * 10_001, parts=["digest"]).status_code == 200


def test_charlie_finds_no_such_project(ask, charlie_api):
    assert ask(charlie_api, query=REPORT).status_code == 404
