"""Lessons that an agent sends with its finished task, and rules that a task is about."""

from __future__ import annotations

import pytest

from ace.models import AceRun
from playbook.models import PlaybookDelta, PlaybookEntry

pytestmark = pytest.mark.django_db
CONTENT = "Wait for the pipeline of the billing service after each push."
QUOTE = "The pipeline took a while"


@pytest.fixture
def teach(complete):
    def send(*lessons, **fields):
        fields = {"feedback_source": "agent", "tool_usage": [], **fields}
        return complete(lessons=list(lessons), **fields)

    return send


class TestOwnWords:
    def test_they_become_a_proposal_with_their_quotes(self, teach):
        told = teach({"content": CONTENT, "quotes": [QUOTE]})

        assert [(one["kind"], one["producer"]) for one in told["lessons"]] == [
            ("fact", "agent")
        ]
        delta = PlaybookDelta.objects.get()
        assert (delta.content, delta.status) == (CONTENT, "pending")
        assert [(q["field"], q["quote"]) for q in delta.evidence] == [
            ("feedback", QUOTE)
        ]

    def test_without_a_quote_of_the_task_they_are_rejected(self, teach):
        teach({"content": CONTENT, "quotes": ["The pipeline is quick"]})

        delta = PlaybookDelta.objects.get()
        assert (delta.status, delta.evidence) == ("rejected", [])

    def test_they_are_stored_with_the_run(self, teach):
        told = teach({"content": CONTENT, "quotes": [QUOTE], "applies_to": ["always"]})

        run = AceRun.objects.get(pk=told["run_id"])
        assert run.request["lessons"][0]["applies_to"] == ["always"]

    @pytest.mark.parametrize(
        ("lesson", "field"),
        [
            ({"quotes": [QUOTE]}, "lessons.0.content"),
            ({"content": CONTENT}, "lessons.0.quotes"),
            ({"content": CONTENT, "quotes": []}, "lessons.0.quotes"),
            (
                {"content": CONTENT, "quotes": [QUOTE], "applies_to": ["tool"]},
                "lessons.0.applies_to",
            ),
        ],
    )
    def test_an_incomplete_one_is_refused_and_nothing_is_stored(
        self, alice_api, project, lesson, field
    ):
        task = {"project_id": str(project.pk), "goal": "Push", "lessons": [lesson]}
        answer = alice_api.post("/api/v1/complete-task", task)

        assert answer.status_code == 400
        assert any(name.startswith(field) for name in answer.json()["errors"])
        assert not AceRun.objects.exists()


class TestRelatedRules:
    RULE = "Always take the advisory lock before you import any products."

    def about(self, complete, **fields):
        told = complete(tool_usage=[], **{"feedback": "", **fields})
        found = [one["content"] for one in told["related_playbook_entries"]]
        entry = PlaybookEntry.objects.get(content=self.RULE)
        return found, entry.supporting_memory_ids

    def test_the_goal_the_result_or_the_feedback_may_be_about_a_rule(
        self, complete, write
    ):
        write(self.RULE)
        write("Name migrations by hand.")
        said = "The advisory lock is taken before products are imported."

        for field in ("goal", "result", "feedback"):
            found, supports = self.about(complete, **{field: f"{said} ({field})"})
            assert self.RULE in found
            assert supports == []

    def test_a_task_about_something_else_has_none(self, complete, write):
        write(self.RULE)

        assert self.about(complete, goal="Paint the gate", result="It is green.") == (
            [],
            [],
        )

    def test_a_cited_rule_is_supported(self, complete, write):
        entry = write(self.RULE)

        _, supports = self.about(complete, cited_entry_ids=[entry.label])

        assert len(supports) == 1

    @pytest.mark.parametrize("field", ["goal", "result", "feedback"])
    def test_a_task_that_says_the_same_supports_it(self, complete, write, field):
        write(self.RULE)

        _, supports = self.about(complete, **{field: f"Done. {self.RULE.upper()}"})

        assert len(supports) == 1

    @pytest.mark.parametrize("has_failed", [False, True])
    def test_a_given_rule_whose_command_succeeds_is_supported(
        self, complete, write, has_failed
    ):
        entry = write("Run `manage.py lock --advisory` before each import.")
        call = {
            "tool_name": "Bash",
            "arguments": {"command": "manage.py lock --advisory"},
            "result": "ok",
            "status": "error" if has_failed else "ok",
        }

        told = complete(
            goal="Import", tool_usage=[call], injected_entry_ids=[str(entry.pk)]
        )

        entry.refresh_from_db()
        given = entry.supporting_memory_ids
        assert given == ([] if has_failed else [told["memory_id"]])

    @pytest.mark.parametrize("tool", ["Edit", ""])
    def test_a_given_rule_about_a_file_is_supported_if_the_file_was_touched(
        self, complete, write, tool
    ):
        entry = write("Keep the prices of shop/prices.py in cents.")
        changed = {"file_path": "shop/prices.py", "old_string": "1", "new_string": "2"}
        call = {"tool_name": tool, "arguments": changed, "status": "ok"}

        told = complete(
            goal="Look at shop/prices.py",
            tool_usage=[call] if tool else [],
            injected_entry_ids=[str(entry.pk)],
        )

        entry.refresh_from_db()
        given = entry.supporting_memory_ids
        assert given == ([told["memory_id"]] if tool else [])

    @pytest.mark.parametrize("words", ["", "Name the remote and the branch at a push."])
    def test_the_same_repair_supports_what_was_learned_of_it(
        self, complete, project, words
    ):
        first = complete(feedback="")
        entry = PlaybookEntry.objects.get(project=project)
        if words:
            PlaybookEntry.objects.filter(pk=entry.pk).update(content=words)

        second = complete(goal="Push the branch of the invoices", feedback="")

        entry.refresh_from_db()
        assert set(entry.supporting_memory_ids) == {
            first["memory_id"],
            second["memory_id"],
        }

    def test_a_person_who_says_the_same_supports_it(self, complete, write):
        write(self.RULE)

        _, supports = self.about(
            complete, feedback=self.RULE.lower(), feedback_source="human"
        )

        assert len(supports) == 1

    def test_a_person_who_takes_it_back_does_not(self, complete, write):
        write(self.RULE)
        opposite = self.RULE.replace("Always", "Never")

        _, supports = self.about(
            complete, feedback=f"{self.RULE} {opposite}", feedback_source="human"
        )

        assert supports == []

    def test_a_person_who_says_nearly_the_same_does_not_even_if_it_is_cited(
        self, complete, write
    ):
        entry = write(self.RULE)
        opposite = self.RULE.replace("Always", "Never")

        _, supports = self.about(
            complete,
            feedback=opposite,
            feedback_source="human",
            cited_entry_ids=[entry.label],
        )

        assert supports == []
