"""A corrected answer becomes an entry, and a wrong entry loses its standing."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ace import run as runs
from ace.task import task as tasks
from playbook.models import PlaybookChange, PlaybookEntry

ASKED = (
    'Which tag has "{n}" in this sentence?\n'
    "The rent of our office was $ {n} million during the year ."
)


@pytest.fixture
def answered(project, alice):
    """Complete the question about `n` with an answer and what was expected."""

    def complete(n, answer, expected=None, cited=()):
        task = {
            "agent_id": "coder",
            "goal": ASKED.format(n=n),
            "result": answer,
            "cited_entry_ids": [str(entry.pk) for entry in cited],
        }
        if expected:
            task |= {
                "feedback": "Correct."
                if answer == expected
                else f"Expected `{expected}`, got `{answer}`.",
                "feedback_source": "environment",
                "outcome": "success" if answer == expected else "failure",
            }
        return runs.complete(project, task, alice)

    return complete


@pytest.fixture
def live(project):
    return lambda: PlaybookEntry.objects.current().filter(project=project)


@pytest.mark.django_db
class TestLearning:
    def test_a_correction_becomes_an_entry_without_a_person(self, answered, live):
        answered(25, "DebtFaceAmount", "RentExpense")

        (entry,) = live()
        assert entry.content.endswith("answer `RentExpense`.")
        assert "25 million" in entry.content

    def test_a_confirmed_answer_becomes_an_entry_unless_an_entry_gave_it(
        self, answered, live
    ):
        answered(25, "RentExpense", "RentExpense")
        (entry,) = live()

        answered(31, "RentExpense", "RentExpense", cited=[entry])

        (same,) = live()
        assert same.content.endswith("answer `RentExpense`.")
        assert same.helpful == 1

    def test_the_same_correction_again_is_a_vote(self, answered, live):
        answered(25, "DebtFaceAmount", "RentExpense")
        answered(25, "LineOfCredit", "RentExpense")

        (entry,) = live()
        assert entry.helpful == 1

    def test_without_feedback_nothing_is_learned_or_counted(
        self, answered, live, project
    ):
        answered(25, "DebtFaceAmount", "RentExpense")
        (entry,) = live()

        answered(26, "DebtFaceAmount", cited=[entry])

        (same,) = live()
        assert (same.helpful, same.harmful, same.neutral) == (0, 0, 0)


@pytest.mark.django_db
def test_a_finished_task_is_parsed_once(answered, monkeypatch):
    parsed = []
    parse = tasks.parse
    monkeypatch.setattr(
        tasks, "parse", lambda request: parsed.append(request) or parse(request)
    )

    answered(25, "DebtFaceAmount", "RentExpense")

    assert len(parsed) == 1


@pytest.mark.django_db
def test_more_files_take_no_more_statements(project, alice):
    def count(files):
        calls = [
            {"tool_name": "edit", "arguments": {"path": f"src/{files}/{n}.py"}}
            for n in range(files)
        ]
        task = {
            "agent_id": "coder",
            "goal": f"Edit {files}.",
            "result": f"Edited {files}.",
            "tool_usage": calls,
        }
        with CaptureQueriesContext(connection) as queries:
            runs.complete(project, task, alice)
        return len(queries)

    count(1)

    assert count(12) <= count(2)


@pytest.mark.django_db
class TestVotes:
    def test_an_entry_with_the_wrong_answer_is_harmful(self, answered, live):
        answered(25, "DebtFaceAmount", "RentExpense")
        (entry,) = live()

        answered(31, "RentExpense", "LeaseLiability", cited=[entry])

        entry.refresh_from_db()
        assert entry.harmful == 1
        assert entry.is_doubted

    def test_an_entry_with_the_right_answer_is_helpful(self, answered, live):
        answered(25, "DebtFaceAmount", "RentExpense")
        (entry,) = live()

        answered(31, "RentExpense", "RentExpense", cited=[entry])

        entry.refresh_from_db()
        assert entry.helpful == 1

    def test_a_cited_entry_that_was_not_followed_gets_no_vote(self, answered, live):
        answered(25, "DebtFaceAmount", "RentExpense")
        (entry,) = live()

        answered(31, "LineOfCredit", "LeaseLiability", cited=[entry])

        entry.refresh_from_db()
        assert (entry.harmful, entry.neutral) == (0, 1)

    def test_an_entry_that_stays_wrong_is_retired(self, answered, live, project):
        project.settings = {"policy": "auto"}
        project.save()
        answered(25, "DebtFaceAmount", "RentExpense")
        entry = live().get(action="answer `RentExpense`")
        # One entry of them is less than the share that a run may take out.
        for n in range(25):
            answered(1000 + n, "LineOfCredit", f"Tag{n}Name")
        for n in range(5):
            answered(2000 + n, "RentExpense", f"Tag{n}Name", cited=[entry])

        entry.refresh_from_db()
        assert entry.status == "deprecated"
        assert PlaybookChange.objects.filter(
            entry_id=entry.pk, action="deprecate"
        ).exists()
