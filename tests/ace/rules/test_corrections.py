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


def drawn(**fields):
    task_ = read(**fields)
    return lessons.draw(
        task_, task_outcome.resolve(task_), evidence.find(task_)
    ).lessons


class TestLesson:
    def test_it_says_what_to_answer_when_asked_this(self):
        (lesson,) = drawn()

        assert lesson.content == (
            "When asked Rent of $ 25 million was paid in, "
            "answer `LeaseAndRentalExpense`."
        )
        assert lesson.action == "answer `LeaseAndRentalExpense`"
        assert lesson.root_cause == "VALUE_MISMATCH"

    def test_each_of_its_quotes_stands_in_its_field(self):
        task_ = read()
        (lesson,) = drawn()

        quotes = {
            s.field: task_.text(s.field)[s.start : s.end] for s in lesson.evidence
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
    def test_feedback_may_say_it_in_other_words(self, feedback):
        (lesson,) = drawn(feedback=feedback)

        assert lesson.action == "answer `LeaseAndRentalExpense`"

    def test_long_names_are_not_cut(self):
        long = "ShareBasedCompensationArrangement" * 4

        (lesson,) = drawn(feedback=f"Expected {long}, got DebtInstrumentFaceAmount.")

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
    def test_it_teaches_nothing_else(self, fields):
        assert not [one for one in drawn(**fields) if one.action.startswith("answer")]


def test_the_refuted_answer_is_the_whole_result():
    assert corrections.wrong_answer(read()) == "DebtInstrumentFaceAmount"
    assert not corrections.wrong_answer(read(feedback="Expected `A`, got `B`."))
