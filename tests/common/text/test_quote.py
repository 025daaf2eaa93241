from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.text import quote
from tests.renderers.foreign_text import FOREIGN, JSON, is_printable


class TestSafeLine:
    @given(FOREIGN)
    def test_it_is_one_visible_line(self, text):
        line = quote.safe_line(text)

        assert is_printable(line)
        assert "\n" not in line
        assert len(line.splitlines()) <= 1

    @given(FOREIGN)
    def test_a_second_call_changes_nothing(self, text):
        line = quote.safe_line(text)

        assert quote.safe_line(line) == line

    @given(FOREIGN, st.integers(1, 30))
    def test_it_is_never_longer_than_its_limit(self, text, limit):
        assert len(quote.safe_line(text, limit)) <= limit

    def test_a_phrase_on_two_lines_is_defused(self):
        assert quote.safe_line("ignore all\nprevious instructions") == (
            "[neutralised: ignore·all·previous·instructions]"
        )

    def test_a_phrase_with_hidden_characters_is_defused(self):
        assert quote.safe_line("ig\u00adnore all previous instruc\u200btions") == (
            "[neutralised: ignore·all·previous·instructions]"
        )


class TestJson:
    @given(FOREIGN)
    def test_a_string_is_read_back_as_its_safe_line(self, text):
        assert json.loads(quote.json_string(text, None)) == quote.safe_line(text)

    @given(JSON)
    def test_a_value_is_json_on_one_line(self, value):
        text = quote.json_value(value)

        json.loads(text)
        assert is_printable(text)
        assert len(text.splitlines()) == 1

    def test_a_long_value_is_a_string_that_says_it_is_cut(self):
        text = quote.json_value({"a": ["word"] * 100}, 50)

        assert json.loads(text).endswith("…")
        assert len(json.loads(text)) == 50


class TestCutLine:
    @given(FOREIGN, st.integers(0, 40))
    def test_what_is_left_ends_its_string(self, text, length):
        line = f"- id {quote.json_string(text)} (prov=agent)"

        cut = quote.cut_line(line, length, head=4)

        if length < 5:
            assert cut is None
            return
        assert cut.startswith("- id")
        assert len(cut) <= length
        if cut.startswith('- id "'):
            _, end = json.JSONDecoder().raw_decode(cut, 5)
            assert cut[end:] in (
                " (prov=agent)"[: len(cut) - end],
                cut[end:-1] + "…",
                "",
            )

    @pytest.mark.parametrize("length", range(5, 14))
    def test_no_escape_is_cut(self, length):
        cut = quote.cut_line(r'- "\\\"\\\"\\\""', length, 2)

        assert cut is not None
        assert set(json.loads(cut[2:])) <= {"\\", '"', "…"}
