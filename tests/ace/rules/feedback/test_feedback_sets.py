"""Many kinds of human feedback: lessons found, their polarity, and abstention."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ace.rules import evidence, lessons, task
from ace.rules.outcome import task_outcome

DATA = Path(__file__).parent / "data"
SETS = ("feedback", "feedback_unseen")
FORBIDS = re.compile(
    r"\b(?:never|avoid|do not|don't|not|no|stop|refrain from|instead of|rather than"
    r"|nobody|shouldn't)\b"
)


def rows(name):
    lines = (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def to_task(row, **fields):
    return task.parse({"feedback": row["text"], "feedback_source": "human"} | fields)


def draw(row):
    known = row["outcome"][0] if row["outcome"][0] != "unknown" else "partial"
    parsed_task = to_task(row, outcome=known)
    spans = evidence.find(parsed_task)
    found = lessons.draw(parsed_task, task_outcome.resolve(parsed_task), spans).lessons
    return [lesson.content.lower() for lesson in found]


def matching_lessons(row, expected):
    words = [word.lower() for word in expected["has"]]
    return [text for text in draw(row) if all(word in text for word in words)]


def forbids(content, words):
    """Whether the words stand behind a "never" in the same clause."""
    before = re.split(r"[,;:]", content[: content.find(words.lower())])[-1]
    return bool(FORBIDS.search(before))


def expected(name):
    return [(row, lesson) for row in rows(name) for lesson in row["lessons"]]


class TestSets:
    @pytest.mark.parametrize(
        ("name", "least"), [("feedback", 0.95), ("feedback_unseen", 0.95)]
    )
    def test_most_lessons_are_found(self, name, least):
        found = [
            bool(matching_lessons(row, lesson))
            for row, lesson in expected(name)
            if not lesson.get("waits")
        ]

        assert sum(found) / len(found) >= least

    @pytest.mark.parametrize("name", SETS)
    def test_a_wish_of_the_moment_is_no_rule_at_its_first_telling(self, name):
        taught = [
            matching_lessons(row, lesson)
            for row, lesson in expected(name)
            if lesson.get("waits")
        ]

        assert len(taught) > 1
        assert not any(taught)

    @pytest.mark.parametrize("name", SETS)
    def test_forbidden_things_are_never_advised(self, name):
        turned = [
            content
            for row, lesson in expected(name)
            if lesson["avoid"]
            for content in matching_lessons(row, lesson)
            if not forbids(content, lesson["has"][0])
        ]

        assert turned == []

    @pytest.mark.parametrize("name", SETS)
    def test_advised_things_are_never_forbidden(self, name):
        turned = [
            content
            for row, lesson in expected(name)
            if not lesson["avoid"]
            for content in matching_lessons(row, lesson)
            if forbids(content, lesson["has"][0])
        ]

        # "No more than three sentences", "don't forget to invalidate": both right.
        assert len(turned) <= 1

    @pytest.mark.parametrize(
        ("name", "most"), [("feedback", 0), ("feedback_unseen", 1)]
    )
    def test_noise_gives_no_lesson(self, name, most):
        taught = [draw(row) for row in rows(name) if not row["lessons"]]

        # "Remember that the warehouse closes at noon": a matter of taste.
        assert sum(map(bool, taught)) <= most

    @pytest.mark.parametrize("name", SETS)
    def test_no_other_lesson_is_drawn(self, name):
        for row in rows(name):
            known = {
                text for item in row["lessons"] for text in matching_lessons(row, item)
            }

            assert not row["lessons"] or set(draw(row)) <= known, row["text"]

    @pytest.mark.parametrize("name", SETS)
    def test_the_outcome_is_read_as_people_read_it(self, name):
        read = [
            (task_outcome.resolve(to_task(row)).value, row["outcome"])
            for row in rows(name)
        ]

        assert [pair for pair in read if pair[0] not in pair[1]] == []


class TestWording:
    @pytest.mark.parametrize(
        ("feedback", "lesson"),
        [
            ("It would have been better if you had asked me first before deleting.",
             "ask me first before deleting."),
            ("I'd rather you didn't touch generated files.",
             "do not touch generated files."),
            ("Would you mind not squashing commits?", "avoid squashing commits."),
            ("You shouldn't have restarted the shared worker.",
             "do not restart the shared worker."),
            ("You might want to check the quota before uploading.",
             "check the quota before uploading."),
            ("Our policy is to encrypt backups at rest.", "encrypt backups at rest."),
            ("In this team we never merge on Fridays.",
             "in this team, never merge on fridays."),
            ("I liked that you compared both plans before choosing.",
             "compare both plans before choosing."),
            ("Better to use `rg` than to grep by hand.",
             "use `rg` rather than to grep by hand."),
            ("Every release needs a changelog entry.",
             "remember that every release needs a changelog entry."),
        ],
    )  # fmt: skip
    def test_a_request_becomes_the_command_that_it_means(self, feedback, lesson):
        assert draw({"text": feedback, "outcome": ["partial"]}) == [lesson]

    @pytest.mark.parametrize(
        "feedback",
        [
            "Could you fix the header?",
            "Make the font bigger.",
            "She said you should always use tabs.",
            "What do you mean by \"never commit\"?",
            "Please follow that.",
            "You should be proud of this.",
            "I should go to lunch now.",
            "No need to rebuild the index.",
            "The build is green, not red, because you fixed it.",
            "Good job on fixing the bug.",
        ],
    )  # fmt: skip
    def test_orders_questions_and_reports_give_no_lesson(self, feedback):
        assert draw({"text": feedback, "outcome": ["partial"]}) == []
