from __future__ import annotations

import uuid

import pytest

from search import ranking

A, B, C = (uuid.UUID(int=n) for n in (1, 2, 3))


def question(**fields):
    return ranking.Question("words", uuid.uuid4(), "memories", ("p:1",), **fields)


class TestRelative:
    def test_it_scales_the_shares_of_the_best_by_how_well_the_best_fits(self):
        keyword, semantic = {A: 4.0, B: 2.0}, {A: 0.8, B: 0.4}

        scores = ranking.fuse(keyword, semantic, question(), most=10.0)

        best_fit = (0.4 + 0.8) / 2
        assert scores[A] == pytest.approx(best_fit)
        assert scores[B] == pytest.approx(0.5**0.5 * best_fit)

    def test_it_leaves_the_only_candidate_its_fit(self):
        scores = ranking.fuse({A: 5.0}, {A: 0.6}, question(), most=10.0)

        assert scores == {A: pytest.approx(0.55)}

    def test_it_follows_the_weights(self):
        keyword, semantic = {A: 1.0, B: 0.5}, {A: 0.1, B: 0.9}

        for weight, first in [(1.0, A), (0.0, B)]:
            asked = question(keyword_weight=weight, semantic_weight=1 - weight)
            scores = ranking.fuse(keyword, semantic, asked, most=2.0)
            assert max(scores, key=scores.get) == first

    def test_it_takes_a_cosine_below_zero_for_nothing_in_common(self):
        scores = ranking.fuse({A: 1.0, B: 0.5}, {A: -0.3, B: -0.9}, question(), most=2.0)

        assert 0 <= scores[B] < scores[A] <= 1


class TestReciprocalRanks:
    def test_it_looks_at_ranks_only(self):
        near = ranking.fuse(
            {A: 9.0, B: 8.9}, {A: 0.9, B: 0.8}, question(fusion="rrf"), most=10.0
        )

        assert near[B] / near[A] == pytest.approx((61 / 62) ** 0.5)


class TestOneLane:
    def test_keyword_scores_are_shares_of_the_greatest_possible_score(self):
        assert ranking.fuse({A: 5.0}, {}, question(), most=10.0) == {A: 0.5}

    def test_semantic_scores_are_cosines(self):
        assert ranking.fuse({}, {A: 0.7}, question(), most=1.0) == {A: 0.7}


def test_ties_go_to_the_newer_row():
    hits = ranking.in_order({A: 0.5, C: 0.5, B: 0.5}, {}, {A: 0.5, B: 0.5, C: 0.5})

    assert [hit.id for hit in hits] == [C, B, A]
