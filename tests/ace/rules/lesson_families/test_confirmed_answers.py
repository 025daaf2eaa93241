from __future__ import annotations

import pytest

from ace.rules import evidence, lessons, task
from ace.rules.outcome import task_outcome

GOAL = 'Which tag has "25" in this sentence?\nRent of $ 25 million was paid in 2018 .'


def draw(**fields):
    request = {
        "goal": GOAL,
        "result": "LeaseAndRentalExpense",
        "feedback": "Correct.",
        "feedback_source": "environment",
        "outcome": "success",
        **fields,
    }
    parsed = task.parse(request)
    drawn = lessons.draw(parsed, task_outcome.resolve(parsed), evidence.find(parsed))
    return [one for one in drawn.lessons if one.action.startswith("answer")]


class TestLesson:
    def test_it_gives_the_answer_that_was_called_right(self):
        (lesson,) = draw()

        assert lesson.content == (
            "When asked Rent of $ 25 million was paid in, "
            "answer `LeaseAndRentalExpense`."
        )

    def test_its_quotes_are_the_question_the_answer_and_the_confirmation(self):
        (lesson,) = draw()

        assert [span.field for span in lesson.evidence] == [
            "goal",
            "result",
            "feedback",
        ]

    @pytest.mark.parametrize(
        "fields",
        [
            {"feedback": "That's right!", "feedback_source": "human"},
            {"feedback": "Yes, the answer is correct."},
            {"goal": "Which file parses the settings?", "result": "core/settings.py"},
            {"result": "Goodwill"},
        ],
    )
    def test_others_say_it_in_other_words(self, fields):
        assert draw(**fields)


class TestAbstention:
    @pytest.mark.parametrize(
        "fields",
        [
            {"feedback_source": "agent"},
            {"outcome": "failure"},
            {"outcome": "unknown"},
            {"feedback": ""},
            {"feedback": "Not correct."},
            {"feedback": "Correct, but write it in capitals."},
            {"result": "25"},
            {"result": "yes"},
            {"result": "It is the rent."},
            {"goal": "Set the tag of the sentence."},
            {"goal": "word " * 100 + "?"},
            {"cited_entry_ids": ["gotchas-00001"]},
        ],
    )
    def test_nothing_is_learned(self, fields):
        assert not draw(**fields)
