from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference import tokens


class TestEstimate:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [("", 0), ("a", 1), ("four", 1), ("fives", 2), ("x" * 400, 100)],
    )
    def test_it_is_a_quarter_of_the_bytes_rounded_up(self, text, expected):
        assert tokens.estimate(text) == expected

    def test_it_counts_bytes_so_that_chinese_is_not_under_counted(self):
        assert tokens.estimate("记忆") == 2

    def test_it_counts_a_lone_surrogate(self):
        assert tokens.estimate("\ud800") == 1

    @given(st.text(), st.text())
    def test_a_joined_text_never_costs_more_than_its_parts(self, left, right):
        parts = tokens.estimate(left) + tokens.estimate(right)

        assert tokens.estimate(left + right) <= parts
