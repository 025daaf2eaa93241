from __future__ import annotations

import pytest

from ace.rules import corrections, evidence, lessons, task
from ace.rules.outcome import task_outcome

GOAL = 'Which tag has "25" in this sentence?\nRent of $ 25 million was paid in 2018 .'


def read(**fields):
    request = {
        "goal": GOAL,
        "result": "DebtInstrumentFaceAmount",
        "feedback": "Expected `LeaseAndRentalExpense`, got `DebtInstrumentFaceAmount`.",
        "feedback_source": "environment",
        "outcome": "failure",
        **fields,
    }
    return task.parse(request)


def draw(**fields):
    parsed_task = read(**fields)
    return lessons.draw(
        parsed_task, task_outcome.resolve(parsed_task), evidence.find(parsed_task)
    ).lessons


class TestLesson:
    def test_it_gives_the_answer_to_the_question(self):
        (lesson,) = draw()

        assert lesson.content == (
            "When asked Rent of $ 25 million was paid in, "
            "answer `LeaseAndRentalExpense`."
        )
        assert lesson.action == "answer `LeaseAndRentalExpense`"
        assert lesson.root_cause == "VALUE_MISMATCH"

    def test_each_of_its_quotes_is_in_its_field(self):
        parsed_task = read()
        (lesson,) = draw()

        quotes = {
            s.field: parsed_task.text(s.field)[s.start : s.end] for s in lesson.evidence
        }

        assert quotes["goal"] == "Rent of $ 25 million was paid in"
        assert "`LeaseAndRentalExpense`" in quotes["feedback"]
        assert quotes["result"] == "DebtInstrumentFaceAmount"

    @pytest.mark.parametrize(
        "feedback",
        [
            "Expected LeaseAndRentalExpense but got DebtInstrumentFaceAmount",
            'expected "LeaseAndRentalExpense", received "DebtInstrumentFaceAmount"',
            "Wrong. Expected answer: LeaseAndRentalExpense, "
            "actual: DebtInstrumentFaceAmount.",
        ],
    )
    def test_feedback_may_use_other_words(self, feedback):
        (lesson,) = draw(feedback=feedback)

        assert lesson.action == "answer `LeaseAndRentalExpense`"

    def test_long_names_are_not_cut(self):
        long = "ShareBasedCompensationArrangement" * 4

        (lesson,) = draw(feedback=f"Expected {long}, got DebtInstrumentFaceAmount.")

        assert lesson.action == f"answer `{long}`"


class TestAbstention:
    @pytest.mark.parametrize(
        "fields",
        [
            {"outcome": "success"},
            {"outcome": "unknown"},
            {"feedback": ""},
            {"feedback": "Expected `A`, got `B`."},
            {
                "feedback": "Expected `DebtInstrumentFaceAmount`, "
                "got `DebtInstrumentFaceAmount`."
            },
            {"result": ""},
            {"result": "It is a DebtInstrumentFaceAmount, I think."},
            {"goal": "word " * 100},
        ],
    )
    def test_it_gives_no_other_lesson(self, fields):
        assert not [one for one in draw(**fields) if one.action.startswith("answer")]


def test_the_refuted_answer_is_the_whole_result():
    assert corrections.wrong_answer(read()) == "DebtInstrumentFaceAmount"
    assert not corrections.wrong_answer(read(feedback="Expected `A`, got `B`."))
