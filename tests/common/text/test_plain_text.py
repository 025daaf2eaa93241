from __future__ import annotations

import hashlib

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


class TestSimilarityHash:
    def test_it_is_the_sha256_of_the_folded_text(self):
        expected = hashlib.sha256(b"run the tests").hexdigest()

        assert plain_text.similarity_hash("  Run\tthe \n TESTS ") == expected

    @pytest.mark.parametrize(
        ("a", "b"),
        [("ﬁle", "file"), ("Straße", "STRASSE"), ("a\u00a0b", "a b"), ("①", "1")],
    )
    def test_it_ignores_form_case_and_spacing(self, a, b):
        assert plain_text.similarity_hash(a) == plain_text.similarity_hash(b)

    def test_different_texts_have_different_hashes(self):
        assert plain_text.similarity_hash("use A") != plain_text.similarity_hash(
            "use B"
        )

    @given(st.text(st.characters(codec=None), max_size=50))
    def test_it_hashes_any_text(self, any_text):
        assert len(plain_text.similarity_hash(any_text)) == 64


class TestClip:
    def test_it_leaves_a_text_that_fits(self):
        assert plain_text.clip("12345", 5) == "12345"

    def test_it_counts_the_ellipsis(self):
        assert plain_text.clip("123456", 5) == "1234…"

    @given(st.text(), st.integers(min_value=0, max_value=40))
    def test_it_never_passes_the_limit(self, any_text, limit):
        assert len(plain_text.clip(any_text, limit)) <= limit
