from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search import tokenise


class TestSpaced:
    @pytest.mark.parametrize(
        ("text", "cut"),
        [
            ("getUserName", "get User Name getUserName"),
            ("HTTPServer", "HTTP Server HTTPServer"),
            ("page_index", "page index"),
            ("src/auth.py:42", "src auth py 42"),
            ("List<String>", "List String"),
            ("E1101", "E1101"),
            ("version 1.2.3, of 3.14.", "version 1.2.3 of 3.14"),
            ("time-sharing", "time-sharing"),
            ("-5 or --force", "5 or force"),
            ("\uff46\uff55ll", "full"),
            ("日本語", "日本 本語"),
            ("東", "東"),
            ("実行test", "実行 test"),
        ],
    )
    def test_it_cuts_code_at_its_joints(self, text, cut):
        assert tokenise.separate_words(text).split() == cut.split()

    @given(st.text(alphabet=st.characters(), max_size=300))
    def test_it_leaves_nothing_that_postgresql_cannot_store(self, text):
        cut = tokenise.separate_words(text)

        assert "\x00" not in cut
        cut.encode("utf-8")

    def test_a_very_long_word_takes_no_long_time(self):
        started = time.perf_counter()

        tokenise.separate_words("a" * 50_000 + " " + "aB" * 20_000)

        assert time.perf_counter() - started < 5

    def test_it_stays_below_what_a_tsvector_holds(self):
        rare = "".join(chr(0x4E00 + n % 20_000) for n in range(100_000))

        assert len(tokenise.separate_words(rare)) <= tokenise.MAX_CHARACTERS


class TestCompounds:
    def test_it_keeps_identifiers_whole_that_are_cut_elsewhere(self):
        found = tokenise.compounds(
            "see src/auth.py and Page_Index, run --force, v1.2.3"
        )

        assert found == ["src/auth.py", "page_index", "--force", "v1.2.3"]

    def test_it_leaves_words_to_the_parser(self):
        assert tokenise.compounds("getUserName and E1101 are words") == []

    def test_it_leaves_out_what_is_too_long_to_be_searched_for(self):
        assert tokenise.compounds("a/" * 120) == []


class TestParts:
    def test_it_tells_where_words_and_their_parts_stand(self):
        text = "a getUserName b"

        found = [match[0] for match in tokenise.find_words(text, 0, len(text))]
        parts = ["getUserName"[slice(*span)] for span in tokenise.part_spans(found[1])]

        assert found == ["a", "getUserName", "b"]
        assert parts == ["get", "User", "Name"]

    def test_a_plain_word_has_none(self):
        assert tokenise.part_spans("plain") == []


@given(st.text(st.characters(max_codepoint=127)))
def test_words_of_an_ascii_text_are_found_as_those_of_any_other(text):
    found = [match.span() for match in tokenise.find_words(text, 0, len(text))]

    *before, _last = (
        match.span() for match in tokenise.find_words(f"{text} é", 0, len(text) + 2)
    )
    assert found == before
