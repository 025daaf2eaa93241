"""Corrections of the repository's own instructions: proposed, decided, and said on the card."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from common.caller import SYSTEM, Role
from context import tasks
from context.card import corrections
from jobs.models import Job
from playbook.models import PlaybookDelta, PlaybookEntry
from playbook.proposals import submission
from playbook.proposals.proposed_change import Proposal
from tests.context.card.task_calls import ROOT, bash, claude, read

pytestmark = pytest.mark.django_db(transaction=True)
LINE = "- `src/cmds`: the commands"
MISSING = "ls: src/cmds: No such file or directory"
DELTAS = "/api/v1/playbook/deltas"


@pytest.fixture
def refute(complete, bob_api):
    """Let three sessions look in vain for what CLAUDE.md names."""
    complete(bob_api, claude("# Shop", LINE))
    complete(bob_api, read("src/cli/run.py", "x = 1"), read("src/app.py", "x = 1"))
    return [
        complete(bob_api, bash("ls src/cmds", MISSING, status="error"))["run_id"]
        for _ in range(3)
    ]


@pytest.fixture
def propose(refute, project):
    def propose():
        return corrections.propose(project, SYSTEM)

    return propose


@pytest.fixture
def decide(alice_api):
    def decide(verb, delta, **fields):
        answer = alice_api.post(f"{DELTAS}/{delta.pk}/{verb}", fields, format="json")
        assert answer.status_code == 200, answer.json()
        return answer.json()["delta"]

    return decide


@pytest.fixture
def wrong(card, bob_api):
    """Return what the card says is wrong."""

    def wrong():
        lines = card(bob_api).json()["lines"]
        return [line["subject"] for line in lines if line["section"] == "wrong"]

    return wrong


def edit(old, new):
    arguments = {"file_path": f"{ROOT}/CLAUDE.md", "old_string": old, "new_string": new}
    return {"tool_name": "Edit", "arguments": arguments, "result": "Updated.", "cwd": ROOT}  # fmt: skip


class TestProposals:
    def test_a_refuted_line_waits_with_what_to_write_and_the_runs(
        self, propose, refute, bob_api, project
    ):
        propose()

        found = bob_api.get(DELTAS, {"project_id": str(project.pk)}).json()["results"]
        (delta,) = [each for each in found if each["operation"] == "correct"]
        said = delta["payload"]["correction"]
        assert delta["status"] == "pending"
        assert delta["reason"].startswith(
            'In "CLAUDE.md", replace "- `src/cmds`: the commands" by "- `src`: the commands"'
        )
        assert said["runs"] == refute[::-1]
        assert (said["file"], said["line"], said["sessions"]) == ("CLAUDE.md", LINE, 3)

    def test_it_is_proposed_once(self, propose):
        assert propose() == propose()
        assert PlaybookDelta.objects.filter(operation="correct").count() == 1

    def test_no_key_proposes_one(self, bob_api, project):
        body = {"project_id": str(project.pk), "operation": "correct", "reason": "x"}

        assert bob_api.post(DELTAS, body, format="json").status_code == 400

    def test_what_only_a_bound_user_saw_is_not_proposed_to_all(
        self, complete, client_of, project
    ):
        one = client_of(project, role=Role.WRITER, user_id="u1")
        complete(one, claude("# Shop", LINE))
        for _ in range(3):
            complete(one, bash("ls src/cmds", MISSING, status="error"))

        assert corrections.propose(project, SYSTEM) == []

    def test_it_waits_whatever_the_policy(self, project, propose):
        project.settings = {"policy": "auto"}
        project.save()

        assert propose()[0].status == "pending"


class TestDecisions:
    def test_an_accepted_one_stays_on_the_card_until_the_file_changes(
        self, complete, propose, decide, wrong, bob_api
    ):
        decide("accept", propose()[0])
        complete(bob_api, bash("ls src/cmds", "run.py"))
        assert wrong() == ["src/cmds"]

        complete(bob_api, edit(LINE, "- `src`: the commands"))

        assert wrong() == []

    def test_accepting_changes_no_entry(self, propose, decide):
        answer = decide("accept", propose()[0])

        assert answer["status"] == "accepted"
        assert not PlaybookEntry.objects.exists()
        assert "undo" not in answer["actions"]

    def test_a_rejected_one_is_neither_shown_nor_proposed_again(
        self, propose, decide, wrong
    ):
        assert wrong() == ["src/cmds"]
        decide("reject", propose()[0], reason="It is built first.")

        again = propose()

        assert [delta.status for delta in again] == ["rejected"]
        assert wrong() == []

    def test_the_card_reads_only_those_in_force_or_of_its_lines(
        self, propose, decide, wrong, project, alice, monkeypatch
    ):
        decide("accept", propose()[0])
        old = [
            Proposal(
                operation="correct",
                reason=f"{n}",
                correction={"file": "README", "line": f"{n}"},
            )
            for n in range(3)
        ]
        for delta in submission.propose(project, old, alice)[1:]:
            decide("reject", delta, reason="No.")
        read, original = [], PlaybookDelta.from_db.__func__
        monkeypatch.setattr(
            PlaybookDelta,
            "from_db",
            classmethod(lambda cls, *row: read.append(row) or original(cls, *row)),
        )

        assert wrong() == ["src/cmds"]
        assert len(read) == 1

    def test_a_reopened_one_waits_again(self, propose, decide):
        delta = propose()[0]
        decide("accept", delta)

        assert decide("reopen", delta)["status"] == "pending"

    def test_one_that_waits_is_stale_once_the_file_changed(
        self, complete, propose, bob_api
    ):
        delta = propose()[0]
        complete(bob_api, edit(LINE, "- `src`: the commands"))

        propose()

        delta.refresh_from_db()
        assert (delta.status, delta.review_note) == ("stale", corrections.FILE_CHANGED)


class TestJob:
    def test_it_runs_once_a_day_where_a_task_read_instructions(
        self, refute, run_jobs, other_project
    ):
        tasks.propose_corrections()
        run_jobs()
        tasks.propose_corrections()

        jobs = Job.objects.filter(kind="correct_instructions")
        assert jobs.get().result == {"found": 1}
        jobs.update(created_at=timezone.now() - timedelta(days=2))
        tasks.propose_corrections()
        assert jobs.count() == 2


class TestPurge:
    @pytest.fixture
    def purge(self, alice_api, project):
        def purge(run):
            ids = [run["memory_id"]]
            body = {"project_id": str(project.pk), "ids": ids, "reason": "asked"}
            answer = alice_api.post("/api/v1/purge", body, format="json")
            assert answer.status_code == 200, answer.json()

        return purge

    def test_of_a_run_that_looked_in_vain_masks_an_accepted_one(
        self, complete, propose, decide, purge, bob_api
    ):
        run = complete(bob_api, bash("ls src/cmds", MISSING, status="error"))
        delta = propose()[0]
        decide("accept", delta)

        purge(run)

        delta.refresh_from_db()
        assert LINE not in str(delta.payload)
        assert LINE not in delta.reason

    @pytest.mark.parametrize("write", [claude, lambda line: edit("# Shop", line)])
    def test_of_the_run_that_read_or_wrote_the_line_withdraws_one_that_waits(
        self, complete, project, purge, bob_api, write
    ):
        run = complete(bob_api, write("- `src/cmds`: ask Ana Lopez"))
        for _ in range(3):
            complete(bob_api, bash("ls src/cmds", MISSING, status="error"))
        delta = corrections.propose(project, SYSTEM)[0]
        assert "Ana Lopez" in delta.payload["correction"]["line"]

        purge(run)

        delta.refresh_from_db()
        assert delta.status == "rejected"
        assert "Ana" not in f"{delta.payload} {delta.reason}"

    def test_of_the_run_in_which_another_command_worked_masks_it(
        self, complete, project, purge, bob_api
    ):
        complete(bob_api, claude("# Shop", "Run `make lint`."))
        run = complete(bob_api, bash("make lint-ana"))
        failed = "make: *** No rule to make target 'lint'."
        for _ in range(3):
            complete(bob_api, bash("make lint", failed, status="error"))
        delta = corrections.propose(project, SYSTEM)[0]
        assert delta.payload["correction"]["right"] == "make lint-ana"

        purge(run)

        delta.refresh_from_db()
        assert "lint-ana" not in f"{delta.payload} {delta.reason}"

    def test_of_the_run_that_used_the_right_file_masks_it(
        self, complete, project, purge, bob_api
    ):
        complete(bob_api, claude("# Shop", "Read `docs/pay.md` first."))
        run = complete(bob_api, read("ana/pay.md", "# Pay"))
        missing = "ls: docs/pay.md: No such file or directory"
        for _ in range(3):
            complete(bob_api, bash("ls docs/pay.md", missing, status="error"))
        delta = corrections.propose(project, SYSTEM)[0]
        assert delta.payload["correction"]["right"] == "ana/pay.md"

        purge(run)

        delta.refresh_from_db()
        assert "ana/" not in f"{delta.payload} {delta.reason}"
