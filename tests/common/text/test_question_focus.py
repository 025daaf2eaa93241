from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.text import question_focus

LONG = " ".join(f"word{chr(97 + i % 26)}" for i in range(60))


class TestPlace:
    def test_it_takes_the_distinctive_words_around_the_place(self):
        text = 'Which tag has "25" here?\nRent of $ 25 million was paid in 2018 .'

        found = question_focus.find_focus(text)

        assert found.words == "Rent of $ 25 million was paid in"
        assert text[found.start : found.end] == "Rent of $ 25 million was paid in"

    def test_the_place_is_on_its_own_line(self):
        found = question_focus.find_focus(
            "One line before.\nThe port is `8080` or 8080 here.\nAfter."
        )

        assert found.words.startswith("The port is")
        assert "After" not in found.words

    def test_two_places_of_one_sentence_differ(self):
        sentence = "We pay 5 on the loan of the first bank and 6 on " + LONG

        five, six = (
            question_focus.find_focus(f'What is "{n}"?\n{sentence}').words
            for n in ("5", "6")
        )

        assert five != six

    def test_a_part_of_a_longer_number_is_another_place(self):
        found = question_focus.find_focus(
            'What is "3.2"?\nIt was 13.2 before and 3.2 after the merger.'
        )

        assert found.words == "It was before and 3.2 after the merger."

    def test_the_number_of_words_is_limited(self):
        found = question_focus.find_focus(f'What is "place"?\n{LONG} place {LONG}')

        assert (
            len(found.words.split())
            == question_focus.WORDS_BEFORE + 1 + question_focus.WORDS_AFTER
        )


class TestWhole:
    def test_a_short_question_is_its_own_focus(self):
        question = "How many seats has the largest plane?"

        assert question_focus.find_focus(question).words == question

    def test_a_long_text_that_names_no_place_has_none(self):
        assert question_focus.find_focus(LONG) is None

    def test_a_long_text_whose_quote_does_not_recur_has_none(self):
        assert question_focus.find_focus(f'What is "missing"? {LONG}') is None

    @pytest.mark.parametrize("text", ["", " \n "])
    def test_an_empty_text_has_none(self, text):
        assert question_focus.find_focus(text) is None


@given(st.text(max_size=400))
def test_its_words_are_inside_its_span_on_one_line(text):
    found = question_focus.find_focus(text)

    if found:
        place = text[found.start : found.end]
        assert "\n" not in found.words
        assert all(word in place for word in found.words.split())
