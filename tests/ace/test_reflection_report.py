"""What complete-task tells of a task beside its lessons: errors, causes, unknown names."""

from __future__ import annotations

import pytest

from playbook.models import PlaybookEntry
from tests.playbook.conftest import write as write

pytestmark = pytest.mark.django_db


@pytest.fixture
def complete(alice_api, project):
    def post(**fields):
        body = {"project_id": str(project.pk), "goal": "Load the table", **fields}
        answer = alice_api.post("/api/v1/complete-task", body)
        assert answer.status_code == 200, answer.content
        return answer.json()

    return post


class TestErrors:
    def test_they_quote_the_failed_call_and_the_cause_that_feedback_names(
        self, complete
    ):
        printed = "Loading\nTimeoutError: timed out after 31s"
        call = {
            "tool_name": "load_table",
            "arguments": {},
            "result": f"Error: {printed}",
        }
        cause = "It timed out because the table has no index."

        told = complete(outcome="failure", tool_usage=[call], feedback=cause)

        error = next(e for e in told["errors"] if e["error_type"] == "TimeoutError")
        assert error["root_cause"] == cause
        assert [quote["field"] for quote in error["evidence"]] == [
            "tool_usage.0.result",
            "feedback",
        ]
        assert "error" in [insight["insight_type"] for insight in told["insights"]]

    def test_a_failure_that_nothing_explains_has_none(self, complete):
        assert complete(outcome="failure")["errors"] == []

    def test_what_to_do_next_time_is_an_insight(self, complete):
        told = complete(feedback="It broke. Next time, take the lock first.")

        assert ("best_practice", "Next time, take the lock first.") in [
            (each["insight_type"], each["content"]) for each in told["insights"]
        ]


class TestNamedEntries:
    @pytest.fixture
    def entry(self, project, write):
        entry = write("When loading tables, take the advisory lock first.")
        PlaybookEntry.objects.filter(pk=entry.pk).update(aliases=["shr-00007"])
        return entry

    def test_an_alias_names_its_entry(self, complete, entry):
        told = complete(outcome="success", cited_entry_ids=["shr-00007"])

        assert [(b["label"], b["helpful"]) for b in told["updated_bullets"]] == [
            (entry.label, 1)
        ]
        assert told["notes"] == []

    def test_named_twice_it_gets_one_vote(self, complete, entry):
        names = ["shr-00007", entry.label, str(entry.pk).upper()]

        told = complete(outcome="success", cited_entry_ids=names)

        assert [bullet["helpful"] for bullet in told["updated_bullets"]] == [1]
        assert told["notes"] == []

    def test_a_name_that_nothing_has_is_told(self, complete, entry):
        told = complete(
            outcome="success",
            cited_entry_ids=[entry.label, "gotchas-99999"],
            injected_entry_ids=["gotchas-88888"],
        )

        assert told["notes"] == [
            "no such entry in the playbook: gotchas-99999, gotchas-88888"
        ]
        assert len(told["updated_bullets"]) == 1

    def test_an_entry_of_another_project_is_as_unknown(
        self, complete, entry, charlie_api, other_project
    ):
        body = {
            "project_id": str(other_project.pk),
            "goal": "Load the table",
            "outcome": "success",
            "cited_entry_ids": [str(entry.pk), entry.label],
        }

        told = charlie_api.post("/api/v1/complete-task", body).json()

        assert entry.label in told["notes"][0]
        assert told["updated_bullets"] == []
