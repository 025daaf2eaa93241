"""What complete-task tells of a task beside its lessons: errors, cause, unknown names."""

from __future__ import annotations

import pytest

from ace.models import AceRun
from playbook.models import PlaybookEntry
from tests.playbook.conftest import write as write

pytestmark = pytest.mark.django_db

TRACEBACK = """Traceback (most recent call last):
  File "/app/src/db.py", line 31, in connect
    raise TimeoutError("timed out after 31s")
TimeoutError: timed out after 31s"""


@pytest.fixture
def complete(alice_api, project):
    def post(**fields):
        body = {"project_id": str(project.pk), "goal": "Load the table", **fields}
        answer = alice_api.post("/api/v1/complete-task", body)
        assert answer.status_code == 200, answer.content
        return answer.json()

    return post


def call(result, name="load_table", **arguments):
    return {"tool_name": name, "arguments": arguments, "result": result}


def reflection_of(told):
    return AceRun.objects.get(pk=told["run_id"]).reflection


class TestErrors:
    def test_the_marks_of_one_traceback_are_one_error(self, complete):
        told = complete(outcome="failure", tool_usage=[call(TRACEBACK)])

        assert [
            (error["error_type"], error["root_cause"]) for error in told["errors"]
        ] == [("TimeoutError", "TIMEOUT")]
        assert len(reflection_of(told).evidence) > 1

    def test_its_cause_follows_from_all_marks_on_its_words(self, complete):
        said = "ValueError: invalid API key"

        told = complete(outcome="failure", tool_usage=[call(said)])

        assert [error["root_cause"] for error in told["errors"]] == ["AUTH"]

    def test_errors_beside_each_other_stay_two_in_their_order(self, complete):
        said = "KeyError: 'stock'\nPermissionError: denied"

        told = complete(outcome="failure", tool_usage=[call(f"Error:\n{said}")])

        assert [error["error_type"] for error in told["errors"]][-2:] == [
            "KeyError",
            "PermissionError",
        ]


class TestRootCause:
    def test_a_loop_is_one_although_nothing_reported_an_error(self, complete):
        told = complete(outcome="failure", tool_usage=[call("nothing", id=1)] * 3)

        assert (told["errors"], reflection_of(told).root_cause) == ([], "LOOP")

    def test_a_failure_that_nothing_explains_has_an_unknown_one(self, complete):
        told = complete(outcome="failure")

        assert reflection_of(told).root_cause == "UNKNOWN"

    @pytest.mark.parametrize("outcome", ["success", "unknown"])
    def test_what_did_not_go_wrong_has_none(self, complete, outcome):
        told = complete(outcome=outcome, tool_usage=[call("nothing", id=1)] * 3)

        assert reflection_of(told).root_cause == ""


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
