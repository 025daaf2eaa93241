"""A hit says whether it answers the query, and the cut-off leaves the others out."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.embedding.fake import outage
from search import relevance
from search.relevance import HitSignals, find_relevant, least_evidence
from search.search import Hit, LaneRank, mark_relevant

SIGNALS = st.builds(
    HitSignals,
    share=st.floats(0, 1),
    cosine=st.none() | st.floats(0, 1),
    score=st.floats(0, 1),
)


@pytest.mark.parametrize(
    ("share", "cosine", "is_relevant"),
    [
        (0.0, 0.6, True),  # by its meaning
        (0.7, 0.0, True),  # by its words
        (0.4, 0.46, True),  # by both together
        (0.4, 0.4, False),
        (0.0, 0.49, False),
        (0.4, None, True),  # without a vector, words must do
        (0.3, None, False),
    ],
)
def test_evidence_is_in_words_and_meaning(share, cosine, is_relevant):
    assert find_relevant([HitSignals(share, cosine, 0.5)], 0.5) == [is_relevant]


def test_only_what_is_nearly_as_good_as_the_best_is_relevant_too():
    hits = [
        HitSignals(0.2, 0.6, 0.8),
        HitSignals(0.2, 0.4, 0.7),
        HitSignals(0.2, 0.55, 0.5),
    ]

    assert find_relevant(hits, 0.5) == [True, True, False]


def test_the_best_of_few_rows_needs_less_evidence():
    sizes = (20, 200, 2_500, 1_000_000)
    least = [least_evidence(rows, is_long=False) for rows in sizes]

    assert least[0] < least[1] < least[2] == least[3]
    assert least_evidence(1_000_000, is_long=True) < least[2]


@given(st.lists(SIGNALS, max_size=30))
def test_there_is_a_verdict_for_each_hit_and_none_without_evidence(hits):
    found = find_relevant(hits, 0.5)

    assert len(found) == len(hits)
    if not any(found[:20]):
        assert not any(found)


def test_a_row_without_a_vector_is_judged_by_its_words():
    words = {"keyword": LaneRank(1, 0.4)}
    hits = [
        Hit(uuid.uuid4(), 0.5, words),
        Hit(uuid.uuid4(), 0.3, {**words, "semantic": LaneRank(1, 0.1)}),
    ]

    found = mark_relevant(hits, max_score=1.0, least=0.5)

    assert [hit.is_relevant for hit in found] == [True, False]


@pytest.fixture
def ask(alice_api, project):
    def ask(query, **fields):
        body = {"project_id": str(project.pk), "query": query} | fields
        answer = alice_api.post("/api/v1/search", body)
        assert answer.status_code == 200, answer.json()
        return answer.json()

    return ask


class TestTheCutoff:
    @pytest.fixture(autouse=True)
    def _memories(self, remember):
        remember("The deploy of billing needs the migration first")
        for n in range(4):
            remember(f"Lunch number{n} is served in the kitchen at noon on Monday")

    def test_each_hit_says_whether_it_is_relevant(self, ask):
        answer = ask("the deploy of billing", mode="semantic")

        assert [hit["relevant"] for hit in answer["hits"]] == [True] + [False] * 4
        assert answer["notes"] == []

    @pytest.mark.parametrize("mode", ["hybrid", "semantic"])
    def test_auto_leaves_the_others_out_and_says_how_many(self, ask, mode):
        answer = ask("the deploy of billing", cutoff="auto", mode=mode)

        (hit,) = answer["hits"]
        assert hit["memory"]["content"].startswith("The deploy")
        assert answer["notes"][0].startswith("cutoff: 4 of 5 hits only come nearest")

    @pytest.mark.parametrize("mode", ["hybrid", "semantic", "keyword"])
    def test_a_query_that_nothing_answers_gets_nothing(self, ask, mode):
        answer = ask("quantum entanglement at absolute zero", cutoff="auto", mode=mode)

        assert answer["hits"] == []

    def test_without_the_model_the_words_decide(self, ask):
        with outage():
            answer = ask("billing migration deploy", cutoff="auto")

        assert len(answer["hits"]) == 1

    def test_the_limit_counts_what_is_left(self, ask, monkeypatch):
        def find_last(signals, least):
            return [False] * (len(signals) - 1) + [True]

        monkeypatch.setattr(relevance, "find_relevant", find_last)
        asked = {"mode": "semantic", "cutoff": "auto", "limit": 1}

        answer = ask("the deploy of billing", **asked)
        (hit,) = answer["hits"]

        assert not hit["memory"]["content"].startswith("The deploy")
        assert answer["notes"][0].startswith("cutoff: 1 of 1 hits")

    def test_the_context_of_a_task_leaves_them_out_unless_told(
        self, alice_api, project
    ):
        body = {
            "project_id": str(project.pk),
            "task_description": "the deploy of billing",
            "top_k": 5,
        }
        url = "/api/v1/context"

        short = alice_api.post(url, body).json()
        whole = alice_api.post(url, body | {"cutoff": "none"}).json()

        assert (len(short["memories"]), len(whole["memories"])) == (1, 5)
        assert "cutoff: 4 of 5" in short["notes"][0]
