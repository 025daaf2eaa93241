from __future__ import annotations

import uuid

import pytest

from search import fuse, search
from search.fuse import FusionWeights, LaneScores

A, B, C = (uuid.UUID(int=n) for n in (1, 2, 3))


class TestWithoutVector:
    @pytest.mark.parametrize("fusion", ["relative", "rrf"])
    def test_a_candidate_has_its_keyword_share_in_both_lanes(self, fusion):
        way = FusionWeights(fusion)
        lanes = LaneScores(keyword=[4.0, 2.0, 1.0], semantic=[0.4, None, 0.2])

        best, missing, last = fuse.fuse_lanes(lanes, way, max_score=10.0)

        assert best > missing > last
        assert LaneScores(keyword=[4.0], semantic=[None]).coverage == 1
        (alone,) = fuse.fuse_lanes(LaneScores([4.0], [None]), way, max_score=10.0)
        assert alone == pytest.approx(0.4)

    def test_the_fewer_vectors_there_are_the_more_words_decide(self):
        def first(coverage):
            lanes = LaneScores([1.0, 0.9], [0.1, 0.9], coverage)
            one, other = fuse.fuse_lanes(lanes, FusionWeights(), max_score=1.0)
            return int(other > one)

        assert (first(1.0), first(0.05)) == (1, 0)


class TestRelative:
    def test_it_scales_the_shares_of_the_best_by_how_well_the_best_fits(self):
        lanes = LaneScores(keyword=[4.0, 2.0], semantic=[0.8, 0.4])

        first, second = fuse.fuse_lanes(lanes, FusionWeights(), max_score=10.0)

        best_fit = (0.4 + 0.8) / 2
        assert first == pytest.approx(best_fit)
        assert second == pytest.approx(0.5**0.5 * best_fit)

    def test_it_leaves_the_only_candidate_its_fit(self):
        scores = fuse.fuse_lanes(
            LaneScores([5.0], [0.6]), FusionWeights(), max_score=10.0
        )

        assert scores == [pytest.approx(0.55)]

    @pytest.mark.parametrize(("weight", "first"), [(1.0, 0), (0.0, 1)])
    def test_it_follows_the_weights(self, weight, first):
        lanes = LaneScores(keyword=[1.0, 0.5], semantic=[0.1, 0.9])
        way = FusionWeights(keyword=weight, semantic=1 - weight)

        scores = fuse.fuse_lanes(lanes, way, max_score=2.0)

        assert scores.index(max(scores)) == first

    def test_few_words_count_less_if_no_row_has_them_and_the_meaning_tells_rows_apart(
        self,
    ):
        def leads(best_share, other_cosines):
            """Whether the row with the best words comes before that with the best cosine."""
            shares = [best_share, 0.5 * best_share, *(0.0 for _ in other_cosines)]
            lanes = LaneScores(shares, [0.45, 0.9, *other_cosines])
            words, meaning, *_ = fuse.fuse_lanes(
                lanes, FusionWeights(keyword=0.6, semantic=0.4), max_score=1.0
            )
            return words > meaning

        apart, alike = [0.1] * 30, [0.8] * 30
        assert leads(0.5, apart)
        assert not leads(0.1, apart)
        assert leads(0.1, alike)

    def test_words_lead_in_the_order_when_the_query_has_an_id(self):
        lanes = LaneScores(keyword=[2.0, 1.4], semantic=[0.5, 0.9])

        without, with_id = (
            fuse.fuse_lanes(lanes, FusionWeights(has_digit=numbered), max_score=2.0)
            for numbered in (False, True)
        )

        assert without[1] > without[0]
        assert with_id[0] > with_id[1]
        assert max(with_id) < 0.8

    def test_words_count_more_in_a_query_of_many_lexemes(self):
        lanes = LaneScores(keyword=[1.0, 0.45], semantic=[0.45, 1.0])

        few, many = (
            fuse.fuse_lanes(lanes, FusionWeights(lexemes=number), max_score=1.0)
            for number in (fuse.LONG_QUERY, fuse.LONG_QUERY + 1)
        )

        assert few[1] > few[0]
        assert many[0] > many[1]
        assert max(few) == pytest.approx(max(many))

    def test_it_takes_a_cosine_below_zero_for_nothing_in_common(self):
        lanes = LaneScores(keyword=[1.0, 0.5], semantic=[-0.3, -0.9])

        first, second = fuse.fuse_lanes(lanes, FusionWeights(), max_score=2.0)

        assert 0 <= second < first <= 1


class TestReciprocalRanks:
    def test_it_looks_at_ranks_only(self):
        assert fuse.reciprocal_ranks([9.0, 8.9, 0.1]) == [1, 61 / 62, 61 / 63]

    def test_equal_scores_share_a_rank_and_nothing_found_has_none(self):
        assert fuse.reciprocal_ranks([0.5, 0.5, 0.0]) == [1, 1, 0]

    def test_it_is_scaled_by_how_well_the_best_fits(self):
        lanes = LaneScores(keyword=[9.0, 8.9], semantic=[0.9, 0.8])

        scores = fuse.fuse_lanes(lanes, FusionWeights("rrf"), max_score=10.0)

        assert scores == pytest.approx([0.9, 0.9 * (61 / 62) ** 0.5])


class TestOneLane:
    def test_keyword_scores_are_shares_of_the_greatest_possible_score(self):
        assert fuse.fuse_lanes(
            LaneScores([5.0], None), FusionWeights(), max_score=10.0
        ) == [0.5]

    def test_semantic_scores_are_cosines(self):
        assert fuse.fuse_lanes(
            LaneScores(None, [0.7]), FusionWeights(), max_score=1.0
        ) == [0.7]

    def test_words_that_stand_nowhere_count_against_a_candidate(self):
        (score,) = fuse.fuse_lanes(
            LaneScores([0.0], [0.7]), FusionWeights(), max_score=1.0
        )

        assert score < 0.35

    def test_no_candidates_have_no_scores(self):
        assert fuse.fuse_lanes(LaneScores([], []), FusionWeights(), max_score=1.0) == []


class TestInOrder:
    def test_ties_go_to_the_newer_row(self):
        lanes = LaneScores([0.0] * 3, [0.5] * 3)

        hits = search.order_hits([A, C, B], [0.5, 0.5, 0.5], lanes)

        assert [hit.id for hit in hits] == [C, B, A]

    def test_what_is_less_unlike_is_first(self):
        lanes = LaneScores(None, [-0.1, -0.3, -0.2])
        scores = fuse.fuse_lanes(lanes, FusionWeights(), max_score=1.0)

        hits = search.order_hits([A, B, C], scores, lanes)

        assert [hit.id for hit in hits] == [A, C, B]
        assert [hit.lanes["semantic"].rank for hit in hits] == [1, 2, 3]

    def test_a_hit_names_only_the_lanes_that_found_it(self):
        hits = search.order_hits([A, B], [0.9, 0.1], LaneScores([2.0, 0.0], [0.3, 0.4]))

        assert hits[0].lanes == {
            "keyword": search.LaneRank(1, 2.0),
            "semantic": search.LaneRank(2, 0.3),
        }
        assert set(hits[1].lanes) == {"semantic"}
