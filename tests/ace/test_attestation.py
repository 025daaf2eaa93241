"""Whose word counts: what a writer's key can and cannot do to a live playbook."""

from __future__ import annotations

import pytest

from access import keys
from access.models import ApiKey
from ace import run as runs
from ace.models import AceRun
from common.caller import Role
from playbook.history import replay
from playbook.models import PlaybookChange, PlaybookDelta, PlaybookEntry

pytestmark = pytest.mark.django_db
COMPLETE = "/api/v1/complete-task"
RULE = "Always call `export_rows` with the argument `limit`."
OPPOSITE = "Never call `export_rows` with the argument `limit`."


@pytest.fixture(autouse=True)
def _assisted(project):
    project.settings = project.settings | {"policy": "assisted"}
    project.save()


@pytest.fixture
def complete(project, bob_api):
    """Send a finished task as Bob's writer key, or as another key."""

    def complete(api=bob_api, **changed):
        task = {
            "project_id": str(project.pk),
            "agent_id": "coder",
            "goal": "Export the rows",
            "result": "Exported.",
            "feedback": "Always call `export_rows` with the argument `limit`, "
            "because the server stops after 1,000 rows.",
            "outcome": "success",
        }
        answer = api.post(COMPLETE, task | changed, format="json")
        assert answer.status_code in (200, 202), answer.json()
        return answer.json()

    return complete


@pytest.fixture
def reader(alice_api, project):
    """Return the lines that agents are given."""

    def read():
        answer = alice_api.get(f"/api/v1/playbook/render?project_id={project.pk}")
        return answer.json()["text"]

    return read


@pytest.fixture
def entry(write):
    return write(RULE, author_kind="rule")


def harm(complete, entry, **changed):
    """Cite an entry in a failed task whose error names what the entry names."""
    call = {
        "tool_name": "export_rows",
        "arguments": {"n": 1},
        "result": "Error: export_rows failed: unknown argument limit",
        "status": "error",
    }
    return complete(
        feedback="0 passed, 3 failed",
        outcome="failure",
        tool_usage=[call],
        cited_entry_ids=[entry.label],
        **changed,
    )


class TestTheClaim:
    @pytest.mark.parametrize(
        ("source", "feedback"),
        [
            ("human", "Always pass `limit`."),
            ("environment", "reward 1"),
            ("test", "3 passed, 0 failed"),
        ],
    )
    def test_a_writers_claim_is_stored_and_counts_as_the_agents_word(
        self, complete, source, feedback
    ):
        answer = complete(feedback_source=source, feedback=feedback)

        run = AceRun.objects.get(pk=answer["run_id"])
        assert run.request["feedback_source"] == source
        assert run.request["counted_as"] == "agent"
        assert any(f"{source} counts as agent" in note for note in answer["notes"])

    def test_an_attesting_key_and_a_curators_human_count(
        self, complete, alice_api, client_of, project
    ):
        curator = client_of(project, role=Role.CURATOR)
        for api, source in ((alice_api, "environment"), (curator, "human")):
            answer = complete(api, feedback_source=source)

            assert "counted_as" not in AceRun.objects.get(pk=answer["run_id"]).request
            assert not [note for note in answer["notes"] if "counts as" in note]

    def test_a_curators_key_that_may_not_attest_does_not_speak_for_tests(
        self, complete, client_of, project
    ):
        curator = client_of(project, role=Role.CURATOR)
        answer = complete(
            curator, feedback_source="test", feedback="3 passed, 0 failed"
        )

        assert any("test counts as agent" in note for note in answer["notes"])

    def test_a_client_cannot_choose_what_its_word_counts_as(self, complete):
        answer = complete(feedback_source="human")
        run = AceRun.objects.get(pk=answer["run_id"])

        assert run.request["counted_as"] == "agent"
        assert (
            "The agent itself reported it"
            in PlaybookDelta.objects.get(run_id=run.pk).reason
        )


class TestLessons:
    @pytest.mark.parametrize("policy", ["assisted", "auto"])
    @pytest.mark.parametrize("source", ["human", "environment", "agent"])
    def test_free_text_of_a_writers_key_waits(self, complete, project, policy, source):
        project.settings = project.settings | {"policy": policy}
        project.save()

        complete(feedback_source=source)

        assert {delta.status for delta in PlaybookDelta.objects.all()} == {"pending"}
        assert not PlaybookEntry.objects.exists()

    def test_the_same_from_a_curator_who_says_human_is_live(self, complete, alice_api):
        complete(alice_api, feedback_source="human")

        assert PlaybookEntry.objects.get().is_active

    @pytest.mark.parametrize("source", ["test", "environment", "human"])
    def test_the_opposite_neither_hides_nor_marks_a_live_rule(
        self, complete, entry, reader, source
    ):
        before = reader()
        complete(
            feedback=f"{OPPOSITE} 3 passed, 0 failed",
            feedback_source=source,
            tool_usage=[],
        )

        assert PlaybookDelta.objects.pending().exists()
        assert reader() == before
        assert RULE in before

    def test_a_resumed_run_keeps_what_its_sender_may(
        self, complete, alice_api, bob_api
    ):
        for api, may_attest in ((alice_api, True), (bob_api, False)):
            answer = complete(api, feedback_source="environment")
            sender = runs.caller_of(AceRun.objects.get(pk=answer["run_id"]))

            key = ApiKey.objects.get(pk=api.key.pk)
            assert sender.may_attest is may_attest
            assert (sender.key_id, sender.line_id) == (key.pk, key.line_id)

    def test_a_key_that_lost_the_right_does_not_attest_an_unfinished_run(
        self, complete, alice_api
    ):
        answer = complete(alice_api, feedback_source="environment")
        keys.change(alice_api.key, may_attest=False)

        run = AceRun.objects.get(pk=answer["run_id"])
        assert not runs.caller_of(run).may_attest


class TestVotes:
    def test_the_votes_of_writers_who_may_not_attest_count_nothing(
        self, complete, entry, reader, client_of, project
    ):
        before = reader()
        other = client_of(project, role=Role.WRITER)
        for source in ("agent", "test", "environment", "human"):
            harm(complete, entry, feedback_source=source)
            harm(complete, entry, api=other, feedback_source=source)
            complete(feedback="Fine.", cited_entry_ids=[entry.label])
            complete(feedback="Fine.", injected_entry_ids=[entry.label])

        entry.refresh_from_db()
        assert (entry.helpful, entry.harmful, entry.neutral) == (0, 0, 0)
        assert not PlaybookChange.objects.filter(action="vote").exists()
        assert entry.is_active
        assert reader() == before

    def test_an_attesting_key_counts_each_time(self, complete, entry, alice_api):
        for _ in range(2):
            harm(complete, entry, api=alice_api)

        entry.refresh_from_db()
        assert entry.harmful == 2

    def test_one_writer_retires_nothing_under_auto(self, complete, entry, project):
        project.settings = project.settings | {"policy": "auto"}
        project.save()
        for _ in range(8):
            harm(complete, entry)

        entry.refresh_from_db()
        assert entry.is_active
        assert not PlaybookDelta.objects.filter(operation="deprecate").exists()

    def test_the_history_replays_to_the_same_counters(
        self, complete, write, alice_api, project
    ):
        entry = write(RULE)
        harm(complete, entry)
        harm(complete, entry, api=alice_api)

        assert PlaybookChange.objects.filter(action="vote").count() == 1
        assert replay.snapshot_at(project) == replay.current_snapshot(project)
