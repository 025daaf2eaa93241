from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.text import plain_text


class TestFindUnstorable:
    def test_it_finds_nothing_in_ordinary_text(self):
        assert plain_text.find_unstorable("naïve 漢字 🙂 \u200d\n\t") is None

    @pytest.mark.parametrize(
        ("bad", "word"), [("a\x00b", "NUL"), ("a\ud800b", "surrogate")]
    )
    def test_it_names_what_cannot_be_stored(self, bad, word):
        assert word in plain_text.find_unstorable(bad)


class TestClip:
    def test_it_leaves_a_text_that_fits(self):
        assert plain_text.clip("12345", 5) == "12345"

    def test_it_counts_the_ellipsis(self):
        assert plain_text.clip("123456", 5) == "1234…"

    @given(st.text(), st.integers(min_value=0, max_value=40))
    def test_it_never_passes_the_limit(self, any_text, limit):
        assert len(plain_text.clip(any_text, limit)) <= limit
