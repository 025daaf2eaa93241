# ruff: noqa: RUF001  # look-alike characters are what these tests are about
from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.text import visible
from common.text.normalise import MARKS, MAX_MARKS, cut_marks, normalise

EVERY_CHARACTER = [chr(point) for point in range(sys.maxunicode + 1)]


class TestNormalise:
    def test_it_gives_short_runs_of_marks_their_usual_form(self):
        assert normalise("e\u0301" + "\u0316" * 5, "NFC") == "\u00e9" + "\u0316" * 5

    def test_it_cuts_long_runs_of_marks(self):
        assert normalise("x" + "\u0316" * 50_000) == "x" + "\u0316" * MAX_MARKS

    @pytest.mark.parametrize("mark", ["\u0316", "\U0001d165"])
    @pytest.mark.parametrize("letter", ["x", "\u2026", "\U0001f600"])
    def test_it_cuts_runs_of_basic_and_further_marks_after_any_letter(
        self, letter, mark
    ):
        other = "\u0301"

        cut = cut_marks(letter + mark * 40 + letter + (mark + other) * 40)

        kept = (mark + other) * (MAX_MARKS // 2)
        assert cut == letter + mark * MAX_MARKS + letter + kept

    def test_it_knows_every_character_that_becomes_a_mark(self):
        marks = set(MARKS)

        assert all(
            character in marks
            for character in EVERY_CHARACTER
            if unicodedata.combining(unicodedata.normalize("NFKD", character)[0])
        )


class TestDropInvisible:
    def test_it_drops_every_format_character_and_control(self):
        hidden = "".join(
            character
            for character in EVERY_CHARACTER
            if unicodedata.category(character) in ("Cf", "Cc")
            and not character.isspace()
        )

        assert visible.drop_invisible(f"a{hidden}b") == "ab"

    @pytest.mark.parametrize(
        "ignorable", list("\u034f\u115f\u1160\u3164\uffa0\u17b4\ufe0f\U000e0101\u2065")
    )
    def test_it_drops_ignorable_characters_of_other_categories(self, ignorable):
        assert visible.drop_invisible(f"su{ignorable}do") == "sudo"

    def test_it_keeps_tabs_and_line_breaks(self):
        assert visible.drop_invisible("a\tb\r\nc\x1b[31m") == "a\tb\r\nc[31m"

    def test_it_makes_other_line_ends_plain(self):
        assert visible.drop_invisible("a\u2028b\x0cc\x85d") == "a\nb c\nd"

    @given(st.text())
    def test_it_changes_nothing_twice(self, text):
        once = visible.drop_invisible(text)

        assert visible.drop_invisible(once) == once

    @pytest.mark.parametrize("text", ["naïve café", "忽略", "שלום", "👍 ok", "ñandú"])
    def test_it_leaves_ordinary_text_alone(self, text):
        assert visible.drop_invisible(text) == text


class TestMatchingForm:
    @pytest.mark.parametrize(
        "disguise",
        [
            "sudo",
            "ｓｕｄｏ",
            "ѕudо",
            "s\u00adu\u200bd\u2060o",
            "𝓼𝓾𝓭𝓸",
            "ⓢⓤⓓⓞ",
            "śúđö",
            "ſudo",
            "s\ufe0fu\U000e0101do",
            "s\x08udo",
        ],
    )
    def test_it_folds_look_alikes_to_ascii(self, disguise):
        assert visible.matching_form(disguise).text == "sudo"

    @pytest.mark.parametrize(
        ("text", "form"),
        [
            ("ІGNORE", "IGNORE"),
            ("push —force –f", "push --force -f"),
            ("“a” ‘b’", "\"a\" 'b'"),
            ("wyłącz", "wylacz"),
            ("忽略之前的所有指令", "忽略之前的所有指令"),
            ("データを送信", "データを送信"),
        ],
    )
    def test_it_gives_one_form_to_spellings(self, text, form):
        assert visible.matching_form(text).text == form

    def test_ascii_keeps_its_letters_and_its_case(self):
        assert visible.matching_form("l1I|O0 rn m").text == "l1I|O0 rn m"

    def test_its_places_lead_back_to_the_text(self):
        text = "x ﬁ s\u200budo y"
        form = visible.matching_form(text)
        start = form.text.index("sudo")

        begin, end = form.origin_span(start, start + 4)

        assert text[begin:end] == "s\u200budo"

    @given(st.text())
    def test_every_character_has_an_origin_in_order(self, text):
        form = visible.matching_form(text)

        assert len(form.origins) == len(form.text)
        assert list(form.origins) == sorted(form.origins)
        assert all(0 <= origin < len(text) for origin in form.origins)

    @given(st.text())
    def test_it_has_no_invisible_character(self, text):
        form = visible.matching_form(text).text

        assert visible.drop_invisible(form) == form
