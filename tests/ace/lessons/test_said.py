"""What a person says: sentences that last, and feedback on a task, in any language."""

from __future__ import annotations

import pytest

from ace.lessons import said
from tests.ace.lessons.teach import teach


def of_prompt(prompt, phrases=()):
    return teach(phrases, goal=prompt, is_prompt=True)


def of_person(feedback):
    return teach(feedback=feedback, feedback_source="human")


class TestWhatLasts:
    @pytest.mark.parametrize(
        "sentence",
        [
            "From now on, use pnpm instead of npm.",
            "Always run the migrations on a copy first.",
            "Please never push to the release branch.",
            "And you should always ask before you delete a table.",
            "Whenever you touch the parser, add a fuzz case.",
            "If the import fails, always keep the file.",
            "Harbour: never deploy on a Friday.",
            "We never log the body of a request.",
            "Write the titles of pull requests in English from now on.",
            "In future, name the ticket in the commit.",
            "Name the ticket in the commit in future.",
            "Don't ever commit the lock file by hand.",
            "Ab jetzt bitte alle Beträge in Cent.",
            "Schreibe Tests künftig unter tests/unit.",
            "Désormais, les montants sont en centimes.",
            "A partir de ahora, usa comillas dobles.",
            "Всегда запускай линтер перед коммитом.",
            "今後はテストを先に書いてください。",
            "从现在开始提交信息用英文写。",
        ],
    )
    def test_a_sentence_that_says_so_is_a_lesson(self, sentence):
        (lesson,) = of_prompt(f"Mend the cart.\n{sentence}\nThen show me the page.")

        assert (lesson.content, lesson.kind) == (sentence, "instruction")
        assert lesson.confidence == said.LASTS

    @pytest.mark.parametrize(
        "prompt",
        [
            "Why does the build always fail?",
            "It always lists these under each branch.",
            "Never mind, I found it.",
            "The status text is never shown to users.",
            "Run `always-on --from now on`.",
            "The page says: \"From now on, use the new door.\"",
            "```\nAlways exit with 1.\n```\nWhat does this mean?",
            "> From now on, use the other door.\nWho wrote this?",
            "Add a test so that it cannot break again.",
            "Always.",
            "To suppress this warning in future sessions, run:",
            "If this may be needed in the future, say why it stays.",
            "**Always** → Exit with 1 on any error",
        ],
    )  # fmt: skip
    def test_what_reports_asks_or_quotes_is_none(self, prompt):
        assert of_prompt(prompt) == []

    def test_it_is_quoted_with_its_neighbours(self):
        prompt = "Look at the invoices. From now on, round them down. Thanks!\nBye."

        (lesson,) = of_prompt(prompt)

        (quote,) = lesson.quotes
        assert quote.quote == prompt.split("\n")[0]

    def test_a_project_may_add_phrases_of_any_language(self):
        sentence = "Framvegis skrifum við prófanir fyrst."

        assert of_prompt(sentence) == []
        assert [one.content for one in of_prompt(sentence, ["framvegis"])] == [sentence]

    def test_a_goal_that_an_agent_wrote_is_nobodys_word(self):
        assert teach(goal="From now on, use pnpm instead of npm.") == []

    def test_a_person_says_it_when_they_refuse_a_call(self):
        words = "From now on, never run the migrations yourself."
        refused = {
            "tool_name": "Bash",
            "arguments": {"command": "make migrate"},
            "result": "The user doesn't want to proceed with this tool use. The tool use was "
            f"rejected. To tell you how to proceed, the user said:\n{words}",
        }

        assert [one.content for one in teach(tool_usage=[refused])] == [words]

    def test_what_an_agent_passes_on_as_feedback_is_read_too(self):
        feedback = "Good. Always tag a release before the push."

        (lesson,) = teach(feedback=feedback, feedback_source="agent")

        assert lesson.content == "Always tag a release before the push."

    @pytest.mark.parametrize("source", ["test", "environment"])
    def test_what_a_program_prints_is_no_word_of_a_person(self, source):
        printed = "3 passed. From now on, use the new runner."

        assert teach(feedback=printed, feedback_source=source) == []


class TestFeedback:
    @pytest.mark.parametrize(
        "sentence",
        [
            "Write the changelog entry in English.",
            "Please put tests under tests/unit.",
            "We write commit messages in the imperative mood.",
            "Prices are in cents.",
            "Do it like in shop/models.py.",
            "The footer is the job of the layout, not of the page.",
            "I would have asked first.",
            "Too many comments.",
            "Bitte keine Abkürzungen in Namen.",
            "这个函数太长了。",
        ],
    )
    def test_no_sentence_is_lost(self, sentence):
        assert [one.content for one in of_person(sentence)] == [sentence]

    def test_its_sentences_are_one_lesson(self):
        told = "Prices are in cents. Totals are rounded down.\n- Use Decimal."

        (lesson,) = of_person(told)

        assert lesson.content == (
            "Prices are in cents. Totals are rounded down. Use Decimal."
        )
        assert lesson.applies_to == ()

    def test_praise_and_commit_it_are_left_out(self):
        (lesson,) = of_person("Great work, thanks! Prices are in cents. Commit it.")

        assert lesson.content == "Prices are in cents."

    @pytest.mark.parametrize(
        "feedback",
        [
            "Perfect, thank you!",
            "LGTM. Please commit and push.",
            "Danke, super!",
            "谢谢",
        ],
    )
    def test_praise_alone_teaches_nothing(self, feedback):
        assert of_person(feedback) == []

    def test_a_part_that_lasts_makes_it_last(self):
        (lesson,) = of_person("Too long. From now on, two lines are enough.")

        assert (lesson.confidence, lesson.applies_to) == (said.LASTS, ("always",))

    def test_it_applies_to_the_paths_that_it_names(self):
        (lesson,) = of_person("Please put tests under tests/unit.")

        assert lesson.applies_to == ("path:tests/unit",)

    def test_a_claim_that_does_not_count_is_not_lost_either(self):
        told = {"feedback_source": "human", "counted_as": "agent"}

        assert teach(feedback="Prices are in cents.", **told)

    def test_a_very_long_one_keeps_its_first_sentences(self):
        (lesson,) = of_person("Prices are in cents.\n" + "A line of a log.\n" * 1_000)

        assert lesson.content.startswith("Prices are in cents. A line")
        assert len(lesson.content) <= said.MAX_FEEDBACK
