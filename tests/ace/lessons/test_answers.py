"""The right answer to a question, from feedback that corrects or confirms one."""

from __future__ import annotations

import pytest

from ace.lessons import answers
from ace.task import task as tasks
from tests.ace.lessons.teach import teach

GOAL = 'Which tag has "25" in this sentence?\nRent of $ 25 million was paid in 2018 .'
RIGHT = (
    "When asked Rent of $ 25 million was paid in, answer `LeaseAndRentalExpense`.",
)
CORRECTED = {
    "goal": GOAL,
    "result": "DebtInstrumentFaceAmount",
    "feedback": "Expected `LeaseAndRentalExpense`, got `DebtInstrumentFaceAmount`.",
    "feedback_source": "environment",
    "outcome": "failure",
}
CONFIRMED = {
    "goal": GOAL,
    "result": "LeaseAndRentalExpense",
    "feedback": "Correct.",
    "feedback_source": "environment",
    "outcome": "success",
}


def contents(request, **fields):
    found = teach(**{**request, **fields})
    return tuple(lesson.content for lesson in found if lesson.kind == "answer")


class TestLesson:
    @pytest.mark.parametrize(
        "feedback",
        [
            CORRECTED["feedback"],
            "Expected LeaseAndRentalExpense but got DebtInstrumentFaceAmount",
            'expected "LeaseAndRentalExpense", received "DebtInstrumentFaceAmount"',
            "Wrong. Expected answer: LeaseAndRentalExpense, "
            "actual: DebtInstrumentFaceAmount.",
        ],
    )
    def test_a_correction_gives_the_answer_to_the_question(self, feedback):
        assert contents(CORRECTED, feedback=feedback) == RIGHT

    @pytest.mark.parametrize(
        "fields",
        [
            {},
            {"feedback": "That's right!", "feedback_source": "human"},
            {"feedback": "Yes, the answer is correct."},
        ],
    )
    def test_a_confirmation_gives_it_too(self, fields):
        assert contents(CONFIRMED, **fields) == RIGHT

    def test_it_quotes_the_question_the_feedback_and_the_answer(self):
        (lesson,) = teach(**CORRECTED)

        assert [(quote.field, quote.quote) for quote in lesson.quotes] == [
            ("goal", "Rent of $ 25 million was paid in"),
            ("feedback", CORRECTED["feedback"].rstrip(".")),
            ("result", "DebtInstrumentFaceAmount"),
        ]

    def test_a_person_who_corrects_an_answer_teaches_nothing_else(self):
        assert len(teach(**{**CORRECTED, "feedback_source": "human"})) == 1

    def test_long_names_are_not_cut(self):
        long = "ShareBasedCompensationArrangement" * 4
        said = f"Expected {long}, got DebtInstrumentFaceAmount."

        assert f"answer `{long}`" in contents(CORRECTED, feedback=said)[0]


class TestAbstention:
    @pytest.mark.parametrize(
        "fields",
        [
            {"outcome": "success"},
            {"outcome": "unknown"},
            {"feedback": ""},
            {"feedback": "Expected `A`, got `B`."},
            {"feedback": "Expected `DebtInstrumentFaceAmount`, got `DebtInstrumentFaceAmount`."},
            {"result": ""},
            {"result": "It is a DebtInstrumentFaceAmount, I think."},
            {"goal": "word " * 100},
        ],
    )  # fmt: skip
    def test_what_corrects_no_answer_gives_none(self, fields):
        assert contents(CORRECTED, **fields) == ()

    @pytest.mark.parametrize(
        "fields",
        [
            {"feedback_source": "agent"},
            {"outcome": "failure"},
            {"outcome": "unknown"},
            {"feedback": "Not correct."},
            {"feedback": "Correct, but write it in capitals."},
            {"result": "25"},
            {"result": "yes"},
            {"result": "It is the rent."},
            {"goal": "Set the tag of the sentence."},
            {"cited_entry_ids": ["gotchas-00001"]},
        ],
    )
    def test_what_confirms_no_name_gives_none(self, fields):
        assert contents(CONFIRMED, **fields) == ()


def test_the_refuted_answer_is_the_whole_result():
    assert answers.wrong_answer(tasks.parse(CORRECTED)) == "DebtInstrumentFaceAmount"
    other = tasks.parse({**CORRECTED, "feedback": "Expected `A`, got `B`."})
    assert not answers.wrong_answer(other)
