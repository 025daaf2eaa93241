from __future__ import annotations

import math

import pytest

from bench.report import quality_metrics


class TestNdcg:
    def test_the_best_ranking_is_1(self):
        assert quality_metrics.ndcg(["a", "b", "c"], {"a": 2, "b": 1}, depth=10) == 1

    def test_nothing_found_is_0(self):
        assert quality_metrics.ndcg(["x"], {"a": 1}, depth=10) == 0
        assert quality_metrics.ndcg([], {"a": 1}, depth=10) == 0

    def test_a_later_place_is_discounted(self):
        assert quality_metrics.ndcg(["x", "a"], {"a": 1}, depth=10) == pytest.approx(
            1 / math.log2(3)
        )

    def test_a_higher_grade_counts_more(self):
        graded = {"a": 3, "b": 1}
        best = 7 + 1 / math.log2(3)

        assert quality_metrics.ndcg(["b", "a"], graded, depth=10) == pytest.approx(
            (1 + 7 / math.log2(3)) / best
        )

    def test_documents_below_the_depth_do_not_count(self):
        assert quality_metrics.ndcg(["x", "a"], {"a": 1}, depth=1) == 0


@pytest.mark.parametrize(
    ("share", "value"), [(0.5, 5), (0.95, 10), (0.0, 1), (1.0, 10)]
)
def test_percentile_is_a_value_that_was_measured(share, value):
    assert quality_metrics.percentile(list(range(10, 0, -1)), share) == value


class TestRecall:
    def test_it_is_the_share_of_judged_documents_in_the_ranking(self):
        assert quality_metrics.recall(["a", "x"], {"a": 1, "b": 1}) == 0.5
        assert quality_metrics.recall(["a", "b"], {"a": 1, "b": 1}) == 1
        assert quality_metrics.recall([], {"a": 1}) == 0
