from __future__ import annotations

import pytest

from ace.rules import evidence, lessons, task
from ace.rules.outcome import task_outcome


def draw(
    feedback, source="human", outcome="success", goal="Mend the login page", result=""
):
    parsed_task = task.parse(
        {
            "goal": goal,
            "result": result,
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
            ("Good, but please reuse the cached client in all jobs.",
             "Reuse the cached client in all jobs."),
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
            ("Always pin the versions in requirements.txt.", "dependencies"),
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

    def test_a_rule_is_drawn_whatever_the_outcome(self):
        found = draw("Always run the linter.", outcome="unknown")

        assert [lesson.content for lesson in found.lessons] == [
            "Always run the linter."
        ]

    def test_people_are_trusted_more_than_agents(self):
        sentence = "Always run the linter before committing."

        person = draw(sentence).lessons[0].confidence
        agent = draw(sentence, source="agent").lessons[0].confidence

        assert agent < person


class TestConversation:
    """What people say, not what they paste."""

    @pytest.mark.parametrize(
        "feedback",
        [
            "Do not ask anymore",
            "wait, let's talk about the second point first",
            "Run `npm ci`.",
            "# Rollout plan\n\n## Steps\n- Always drain the queue before a deploy.",
            "I got this feedback:\nYou should always close the cursor in a finally block.",
            "> Always answer in French.",
            "```\n# never call this directly\n```",
            "2024-05-01 10:00:02 ERROR always restart the worker after a crash",
            "Use it when that is done.",
        ],
    )  # fmt: skip
    def test_a_moment_or_a_pasted_text_is_no_rule(self, feedback):
        assert contents(feedback) == []

    def test_a_quotation_ends_in_its_paragraph(self):
        rule = "Always run `make check` before you push."

        assert contents(f'<img alt="x">" is on the page. {rule}') == [rule]
        assert contents(f'He wrote "no.\n\n{rule}') == [rule]
        assert contents(f'He wrote "Oh. {rule} Bye." and left.') == []

    def test_the_words_before_a_pasted_plan_count(self):
        found = contents("We never deploy on Fridays.\n\n# Plan\n- Always use blue.")

        assert found == ["Never deploy on Fridays."]

    @pytest.mark.parametrize(
        ("words", "found"),
        [
            ("call the file notes-old instead of notes", []),
            ("never write into the folder of another team",
             ["Never write into the folder of another team."]),
        ],
    )  # fmt: skip
    def test_the_words_of_a_rejected_call_are_about_that_call(self, words, found):
        refused = f"The user doesn't want to proceed. The user said:\n{words}"
        parsed_task = task.parse(
            {
                "goal": "Write the notes",
                "feedback": words,
                "feedback_source": "human",
                "tool_usage": [{"tool_name": "Write", "result": refused}],
            }
        )

        drawn = lessons.draw(
            parsed_task, task_outcome.resolve(parsed_task), evidence.find(parsed_task)
        )

        assert [lesson.content for lesson in drawn.lessons] == found


class TestFacts:
    def test_a_plain_statement_about_the_domain(self):
        found = contents("Student tickets cannot be transferred to another person.")

        assert found == [
            "Remember that student tickets cannot be transferred to another person."
        ]

    def test_a_habit_of_the_team_that_a_prompt_mentions(self):
        found = contents(
            "",
            goal="Can you mend the import? We don't keep totals in the ledger table.",
        )

        assert found == ["Remember that we don't keep totals in the ledger table."]

    def test_it_is_quoted_where_it_was_said(self):
        (lesson,) = draw(
            "", goal="We don't keep totals in the ledger table. Mend the import."
        ).lessons

        (span,) = lesson.evidence
        assert (span.field, span.start, span.end) == ("goal", 0, 41)

    def test_what_an_accepted_answer_states_about_the_domain(self):
        answer = {
            "goal": "I want my money back",
            "result": "I am sorry. Student tickets are not refundable after the start.",
            "outcome": "success",
            "feedback": "reward 1",
            "feedback_source": "environment",
            "tool_usage": [{"tool_name": "get_ticket", "result": "a student ticket"}],
        }
        parsed_task = task.parse(
            answer | {"result": answer["result"].replace("not ", "non-")}
        )

        drawn = lessons.draw(
            parsed_task, task_outcome.resolve(parsed_task), evidence.find(parsed_task)
        )

        assert [lesson.content for lesson in drawn.lessons] == [
            "Remember that student tickets are non-refundable after the start."
        ]

    @pytest.mark.parametrize(
        "goal",
        [
            "Do we keep totals in the ledger table?",
            "You are Ann. You cannot be reached. We never answer the phone.",
            "The current behavior requires a restart of the service.",
            "I think we don't need the second table in that case.",
            "It cannot be changed later on by anybody.",
            'Which tag fits the sentence "Here it is. We use the straight-line method."?',
        ],
    )
    def test_questions_roles_guesses_and_pointers_are_no_facts(self, goal):
        assert contents("", goal=goal) == []


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

    ACCEPTED = (
        "def median(xs):\n    # of the two middle values, return the left one\n"
        "    return sorted(xs)[(len(xs) - 1) // 2]\n"
    )

    def test_only_the_last_word_before_a_success_is_kept(self):
        found = contents(
            f"{self.FIRST}\n{self.LAST}",
            source="agent",
            goal=self.GOAL,
            result=self.ACCEPTED,
        )

        assert found == [
            "When implementing `median`, the function should return the left of the "
            "two middle values instead."
        ]

    def test_advice_that_the_accepted_result_contradicts_is_dropped(self):
        advice = "The function should round `half_up` once instead of twice."

        found = contents(
            f"The implementation is incorrect because it drifts. {advice}",
            source="agent",
            goal=self.GOAL,
            result=self.ACCEPTED,
        )

        assert found == []

    def test_an_earlier_reflection_does_not_stand_in_for_a_last_one_without_advice(
        self,
    ):
        last = "The implementation is incorrect because it is slow."

        found = contents(
            f"{self.LAST}\n{last}",
            source="agent",
            goal=self.GOAL,
            result=self.ACCEPTED,
        )

        assert found == []

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
