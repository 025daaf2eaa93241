from __future__ import annotations

import pytest

from ace.rules import evidence, lessons, task
from ace.rules.outcome import task_outcome


def draw(feedback, source="human", outcome="success", goal="Mend the login page"):
    parsed_task = task.parse(
        {
            "goal": goal,
            "feedback": feedback,
            "feedback_source": source,
            "outcome": outcome,
        }
    )
    return lessons.draw(
        parsed_task, task_outcome.resolve(parsed_task), evidence.find(parsed_task)
    )


def contents(feedback, **fields):
    return [lesson.content for lesson in draw(feedback, **fields).lessons]


class TestPeople:
    @pytest.mark.parametrize(
        ("feedback", "content"),
        [
            ("Always run the linter before committing.",
             "Always run the linter before committing."),
            ("- use uv instead of pip", "Use uv instead of pip."),
            ("Next time, check the migration plan first.",
             "Check the migration plan first."),
            ("You must not edit generated files", "Do not edit generated files."),
            ("Good, but please reuse the cached client.", "Reuse the cached client."),
            ("We need to add a changelog entry whenever the API changes.",
             "Add a changelog entry whenever the API changes."),
            ("The lock file was stale; you should run `npm ci`.", "Run `npm ci`."),
            ("If the token has expired, refresh it before retrying.",
             "If the token has expired, refresh it before retrying."),
            ("Mocking the clock worked well because tests became stable.",
             "Keep mocking the clock: this worked well because tests became stable."),
        ],
    )  # fmt: skip
    def test_the_lesson_is_the_persons_own_sentence(self, feedback, content):
        assert contents(feedback) == [content]

    def test_its_condition_and_action_are_its_parts(self):
        lesson = draw("Always run the linter before committing.").lessons[0]

        assert (lesson.condition, lesson.action) == (
            "before committing",
            "Always run the linter",
        )

    @pytest.mark.parametrize(
        ("feedback", "category"),
        [
            ("Always run the linter before committing.", "best_practices"),
            ("Never commit generated files.", "gotchas"),
            ("Pin the versions in requirements.txt.", "dependencies"),
            ("The service layers should not import views.", "architecture"),
            ("Small commits worked well because review was quick.", "patterns"),
        ],
    )
    def test_it_has_a_category(self, feedback, category):
        assert draw(feedback).lessons[0].category == category

    def test_a_sentence_about_it_gets_the_goal_as_its_condition(self):
        found = contents("It should use UTC everywhere.")

        assert found == [
            'When the task is "Mend the login page", it should use UTC everywhere.'
        ]

    @pytest.mark.parametrize(
        "feedback",
        ["", "ok", "Thanks!", "Please be more careful.", "This should work now.",
         "Could you add tests?", "It worked well because we were lucky.",
         "In this case it should be blue.", "word " * 90 + "should be shorter"],
    )  # fmt: skip
    def test_a_sentence_without_an_action_is_no_lesson(self, feedback):
        assert contents(feedback) == []

    def test_an_unknown_outcome_gives_no_lesson(self):
        found = draw("Always run the linter.", outcome="unknown")

        assert found.lessons == []
        assert "unknown" in found.abstention

    def test_people_are_trusted_more_than_agents(self):
        sentence = "Always run the linter before committing."

        person = draw(sentence).lessons[0].confidence
        agent = draw(sentence, source="agent").lessons[0].confidence

        assert agent < person


class TestAgentsLookingBack:
    GOAL = "def median(xs):\n    '''Return the left median.'''\n"
    FIRST = (
        "The implementation is incorrect because it sorts in place. "
        "The function should copy the list before it sorts the values."
    )
    LAST = (
        "The implementation is incorrect because it averages the middle values. "
        "The function should return the left of the two middle values instead."
    )

    def test_only_the_last_word_before_a_success_is_kept(self):
        found = contents(f"{self.FIRST}\n{self.LAST}", source="agent", goal=self.GOAL)

        assert found == [
            "When implementing `median`, the function should return the left of the "
            "two middle values instead."
        ]

    def test_advice_about_code_that_still_fails_is_no_lesson(self):
        found = draw(self.LAST, source="agent", goal=self.GOAL, outcome="failure")

        assert found.lessons == []
        assert [insight.insight_type for insight in found.insights] == ["observation"]

    @pytest.mark.parametrize(
        "advice",
        [
            "We need to reevaluate the logic of the whole function.",
            "The implementation should be modified to correctly handle all cases.",
            "This does not account for the fact that values must be positive numbers.",
            "The function should return true for \"15-01-2012\" in the end.",
            "The name suggests that it should double the sum of all of the values.",
        ],
    )  # fmt: skip
    def test_vague_or_one_off_advice_is_left_out(self, advice):
        feedback = f"The implementation is incorrect because it fails. {advice}"

        assert contents(feedback, source="agent", goal=self.GOAL) == []
