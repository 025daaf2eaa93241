"""A rule never becomes active beside one that it contradicts: a person chooses."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from common.caller import Role
from common.errors import Refusal
from inference.embedding.fake import outage
from playbook.conflicts.contradiction import Contradiction
from playbook.exchange import import_playbook
from playbook.history import replay
from playbook.models import Conflict, PlaybookDelta, PlaybookEntry
from playbook.proposals import person_edits, submission
from playbook.review import (
    available,
    bulk,
    decide,
    merge_into_entry,
    resolve_conflict,
    revert,
)
from playbook.review.resolution_steps import SplitPart
from tests.playbook.conflicts.test_conflicts import OPPOSITE, RULE, URL

ENTRIES = "/api/v1/playbook/entries"
DELTAS = "/api/v1/playbook/deltas"
OTHER = "Keep the lock file of the project beside its other files."
# Two rules that the same text contradicts.
TWO = (RULE, RULE.replace("suite", "suite itself"))


@pytest.fixture
def proposed(project, bob, learned):
    """Bob's opposite, which waits before any rule is active."""
    proposal = learned(OPPOSITE, feedback_source="agent")
    return submission.propose(project, [proposal], bob)[0]


@pytest.fixture
def body(project):
    return {"project_id": str(project.pk), "content": OPPOSITE, "category": "gotchas"}


def live():
    rows = PlaybookEntry.objects.current().order_by("pk")
    return list(rows.values_list("content", flat=True))


def submit(project, caller, operation, entry=None, **changes):
    proposal = person_edits.person_proposal(
        operation, changes, caller, reason="", entry=entry
    )
    return person_edits.submit_edit(project, proposal, caller)


class TestADecision:
    def test_accepting_opens_the_choice(self, alice, write, proposed):
        older = write(RULE)

        with pytest.raises(Contradiction) as refusal:
            decide.accept(proposed, alice)

        conflict = Conflict.objects.get()
        assert (conflict.left_id, conflict.delta_id) == (older.pk, proposed.pk)
        assert live() == [RULE]
        extra = refusal.value.extra
        assert [one["id"] for one in extra["conflicts"]] == [str(conflict.pk)]
        assert extra["conflicts"][0]["left"] == older.label
        assert extra["choices"] == ["supersede", "split", "reject"]
        assert "never" in refusal.value.detail
        proposed.refresh_from_db()
        assert (proposed.status, proposed.risk) == ("pending", "high")

    def test_accepting_twice_opens_one_conflict(self, alice, write, proposed):
        write(RULE)

        for _ in range(2):
            with pytest.raises(Contradiction):
                decide.accept(PlaybookDelta.objects.get(pk=proposed.pk), alice)

        assert Conflict.objects.count() == 1

    def test_an_edit_waits_in_the_words_of_the_person(
        self, alice, write, learned, project, bob
    ):
        write(RULE)
        proposal = learned(OTHER, feedback_source="agent")
        [delta] = submission.propose(project, [proposal], bob)

        with pytest.raises(Contradiction):
            decide.edit_and_accept(delta, {"content": OPPOSITE}, alice)

        delta.refresh_from_db()
        assert (delta.content, delta.suggested["content"]) == (OPPOSITE, OTHER)
        resolve_conflict.supersede(Conflict.objects.get(), alice)
        assert live() == [OPPOSITE]
        delta.refresh_from_db()
        assert delta.status == "edited"

    def test_a_merge_waits_with_its_text(self, project, alice, bob, write, learned):
        write(RULE)
        target = write(OTHER)
        text = "Keep the lock file of the project in its root folder."
        proposal = learned(text, feedback_source="agent")
        [delta] = submission.propose(project, [proposal], bob)
        made = merge_into_entry.make_text(delta, target, OPPOSITE)

        with pytest.raises(Contradiction):
            merge_into_entry.merge(delta, target, alice, embedded_text=made)

        assert live() == [RULE, OTHER]
        resolve_conflict.supersede(Conflict.objects.get(), alice)
        assert live() == [OPPOSITE]
        target.refresh_from_db()
        assert target.content == OPPOSITE
        assert replay.snapshot_at(project) == replay.current_snapshot(project)

    def test_many_are_accepted_but_for_what_contradicts(
        self, project, alice, bob, write, learned, proposed
    ):
        write(RULE)
        [other] = submission.propose(
            project, [learned(OTHER, feedback_source="agent")], bob
        )

        outcomes = bulk.decide_all(project, [proposed.pk, other.pk], "accept", alice)

        assert [one.status for one in outcomes] == ["refused", "accepted"]
        assert outcomes[0].refusal.code == "contradiction"
        assert Conflict.objects.get().state == "open"

    def test_the_api_names_the_conflict(self, alice_api, write, proposed):
        write(RULE)

        for headers in ({}, {"Idempotency-Key": "k"}):
            answer = alice_api.post(
                f"{DELTAS}/{proposed.pk}/accept", {}, headers=headers
            )

            assert (answer.status_code, answer.json()["code"]) == (409, "contradiction")
            assert answer.headers["Content-Type"] == "application/problem+json"
            [named] = answer.json()["conflicts"]
            assert named["id"] == str(Conflict.objects.get(state="open").pk)

    def test_an_edit_with_a_key_is_kept(self, alice_api, write, proposed):
        write(RULE)
        text = RULE.replace("Always", "Do not")

        answer = alice_api.post(
            f"{DELTAS}/{proposed.pk}/edit",
            {"content": text},
            headers={"Idempotency-Key": "k"},
        )

        assert answer.json()["code"] == "contradiction"
        proposed.refresh_from_db()
        assert (proposed.content, proposed.status) == (text, "pending")


class TestAPersonsOwnWrite:
    def test_an_addition_waits_in_a_conflict(self, alice_api, write, body):
        write(RULE)

        answers = [
            alice_api.post(ENTRIES, body, headers=headers)
            for headers in ({}, {}, {"Idempotency-Key": "k"}, {"Idempotency-Key": "k"})
        ]

        told = answers[0].json()
        assert [a.status_code for a in answers] == [409] * 4
        assert {a.json()["code"] for a in answers} == {"contradiction"}
        assert answers[3].headers["Content-Type"] == "application/problem+json"
        assert {a.json()["delta_id"] for a in answers} == {told["delta_id"]}
        conflict = Conflict.objects.get()
        assert told["conflicts"][0]["id"] == str(conflict.pk)
        assert (conflict.delta.status, conflict.delta.content) == ("pending", OPPOSITE)
        assert live() == [RULE]

    @pytest.mark.parametrize(
        ("verb", "left"), [("supersede", [OPPOSITE]), ("reject", [RULE])]
    )
    def test_the_same_key_chooses(self, project, client_of, write, body, verb, left):
        write(RULE)
        curator = client_of(project, role=Role.CURATOR)
        told = curator.post(ENTRIES, body).json()

        answer = curator.post(f"{URL}/{told['conflicts'][0]['id']}/{verb}", {})

        assert answer.status_code == 200, answer.json()
        assert live() == left

    def test_a_change_waits_in_a_conflict(self, alice_api, write):
        write(RULE)
        other = write(OTHER)

        answer = alice_api.patch(f"{ENTRIES}/{other.pk}", {"content": OPPOSITE})

        assert (answer.status_code, answer.json()["code"]) == (409, "contradiction")
        assert answer.json()["conflicts"][0]["right"] != ""
        assert live() == [RULE, OTHER]

    def test_a_condition_that_is_removed_is_a_change_too(self, project, alice, write):
        write(RULE, condition="In CI")
        other = write(OPPOSITE, condition="On a laptop")

        with pytest.raises(Contradiction):
            submit(project, alice, "update", other, condition="In CI")

        other.refresh_from_db()
        assert other.condition == "On a laptop"
        resolve_conflict.supersede(Conflict.objects.get(), alice)
        other.refresh_from_db()
        assert (other.condition, live()) == ("In CI", [OPPOSITE])

    def test_a_restored_entry_waits_in_a_conflict(self, project, alice, write):
        older = write(RULE)
        submit(project, alice, "delete", older)
        newer = write(OPPOSITE)

        with pytest.raises(Contradiction):
            submit(project, alice, "restore", older)

        assert live() == [OPPOSITE]
        conflict = Conflict.objects.get()
        assert (conflict.left_id, conflict.delta.operation) == (newer.pk, "restore")
        resolve_conflict.split(
            conflict, SplitPart("on a laptop"), SplitPart("in CI"), alice
        )
        assert len(live()) == 2
        older.refresh_from_db()
        assert (older.condition, older.content[:11]) == ("in CI", "When in CI,")
        assert replay.snapshot_at(project) == replay.current_snapshot(project)

    def test_a_writers_change_waits_as_before(self, bob_api, write, body):
        write(RULE)

        answer = bob_api.post(ENTRIES, body)

        assert answer.status_code == 202
        assert Conflict.objects.get().delta.status == "pending"

    def test_the_deltas_route_answers_the_same(self, alice_api, write, body):
        write(RULE)

        answer = alice_api.post(
            DELTAS, body | {"operation": "add", "producer": "human"}
        )

        assert (answer.status_code, answer.json()["code"]) == (409, "contradiction")
        assert live() == [RULE]

    def test_another_curator_sees_nothing_of_it_in_another_project(
        self, charlie_api, alice_api, write, body
    ):
        write(RULE)
        told = alice_api.post(ENTRIES, body).json()

        answer = charlie_api.get(f"{URL}/{told['conflicts'][0]['id']}")

        assert answer.status_code == 404


class TestSeveralRules:
    @pytest.fixture
    def conflicts(self, alice, write, proposed):
        for text in TWO:
            write(text)
        with pytest.raises(Contradiction) as refusal:
            decide.accept(proposed, alice)
        assert len(refusal.value.extra["conflicts"]) == 2
        return list(Conflict.objects.order_by("left__label"))

    def test_the_last_decision_applies(self, project, alice, conflicts, proposed):
        first = resolve_conflict.supersede(conflicts[0], alice)

        assert (first.state, live()) == ("superseded", list(TWO))
        proposed.refresh_from_db()
        assert proposed.status == "pending"
        resolve_conflict.supersede(conflicts[1], alice)
        assert live() == [OPPOSITE]
        assert replay.snapshot_at(project) == replay.current_snapshot(project)

    def test_a_rejection_keeps_both_rules(self, alice, conflicts):
        resolve_conflict.supersede(conflicts[0], alice)

        resolve_conflict.reject(conflicts[1], alice)

        assert live() == list(TWO)
        states = Conflict.objects.values_list("state", flat=True)
        assert set(states) == {"rejected"}

    def test_one_is_split_and_one_superseded(self, project, alice, conflicts):
        resolve_conflict.supersede(conflicts[0], alice)

        resolve_conflict.split(
            conflicts[1], SplitPart("in CI"), SplitPart("on a laptop"), alice
        )

        assert [text[:7] for text in live()] == ["When in", "When on"]
        assert replay.snapshot_at(project) == replay.current_snapshot(project)


class TestARevert:
    @pytest.fixture
    def deleted(self, project, alice, write):
        """The rule was deleted, and then its opposite was added."""
        deletion = submit(project, alice, "delete", write(RULE))
        write(OPPOSITE)
        return deletion

    def test_undoing_a_deletion_opens_the_choice(self, project, alice, deleted):
        with pytest.raises(Contradiction) as refusal:
            revert.undo_delta(deleted, alice)

        assert live() == [OPPOSITE]
        conflict = Conflict.objects.get()
        assert refusal.value.extra["conflicts"][0]["id"] == str(conflict.pk)
        resolve_conflict.supersede(conflict, alice)
        assert live() == [RULE]
        assert replay.snapshot_at(project) == replay.current_snapshot(project)

    def test_the_api_answers_the_same(self, project, alice_api, deleted):
        body = {"project_id": str(project.pk), "delta": str(deleted.pk)}

        answers = [
            alice_api.post("/api/v1/playbook/revert", body, headers=headers)
            for headers in ({}, {"Idempotency-Key": "k"})
        ]
        answers.append(alice_api.post(f"{DELTAS}/{deleted.pk}/undo", {}))

        assert {a.json()["code"] for a in answers} == {"contradiction"}
        told = {one["id"] for a in answers for one in a.json()["conflicts"]}
        assert told == {str(Conflict.objects.get().pk)}

    def test_a_rule_that_is_put_in_force_again_opens_it(self, alice, write, proposed):
        accepted = decide.accept(proposed, alice)
        undone = revert.undo_delta(accepted, alice)
        write(RULE)

        with pytest.raises(Contradiction):
            revert.undo_delta(undone, alice, version=undone.version)

        assert live() == [RULE]
        assert Conflict.objects.get().state == "open"

    def test_undoing_a_change_of_the_text_opens_it(self, project, alice, write):
        other = write(RULE)
        change = submit(project, alice, "update", other, content=OTHER)
        write(OPPOSITE)

        with pytest.raises(Contradiction):
            revert.undo_delta(change, alice)

        assert live() == [OTHER, OPPOSITE]
        resolve_conflict.reject(Conflict.objects.get(), alice)
        assert live() == [OTHER, OPPOSITE]


class TestWithoutVectors:
    def test_the_words_are_compared_while_the_model_is_down(self, alice, write):
        with outage():
            write("Store money as integer cents.")

            with pytest.raises(Contradiction):
                write("Represent prices as floats.")

        assert live() == ["Store money as integer cents."]
        assert Conflict.objects.get().reason.startswith("value: cent")

    def test_what_only_vectors_show_is_found_when_they_arrive(
        self, write, run_jobs, alice
    ):
        text = "When calling `edit`, pass the whole `path` of the file to change."
        with outage():
            older, newer = write(text), write(text.replace("path", "name"))
        assert not Conflict.objects.exists()

        run_jobs()

        conflict = Conflict.objects.get()
        assert (conflict.left_id, conflict.right_id) == (older.pk, newer.pk)
        assert resolve_conflict.reject(conflict, alice).state == "rejected"


class TestTheAction:
    """What a rule demands stands in its text or in its action."""

    @pytest.mark.parametrize("has_model", [True, False])
    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ({"action": OPPOSITE}, {"action": RULE}),
            ({"content": OPPOSITE}, {"action": RULE}),
            ({"action": OPPOSITE}, {"content": RULE}),
        ],
    )
    def test_it_is_compared_with_the_other_rules(
        self, alice_api, write, body, first, second, has_model
    ):
        with nullcontext() if has_model else outage():
            write(**{"content": "Follow the guide of the team."} | first)
            rule = {"content": "Read the page about tests."} | second

            answer = alice_api.post(ENTRIES, body | rule)

        assert (answer.status_code, answer.json()["code"]) == (409, "contradiction")
        assert len(live()) == 1

    def test_another_action_is_another_rule(self, alice_api, write, body):
        write("Follow the guide of the team.", action=OPPOSITE)
        rule = {"content": "Read the page about tests.", "action": OTHER}

        assert alice_api.post(ENTRIES, body | rule).status_code == 201


class TestAnImport:
    def test_lines_are_refused_when_they_are_accepted(self, project, alice, run_jobs):
        text = f"[a-00001] helpful=0 harmful=0 :: {RULE}\n"
        text += f"[a-00002] helpful=0 harmful=0 :: {OPPOSITE}\n"
        done = import_playbook.import_text(project, text, alice, format="ace")
        run_jobs()

        outcomes = bulk.decide_all(project, done.waiting, "accept", alice)

        assert sorted(one.status for one in outcomes) == ["accepted", "refused"]
        assert len(live()) == 1
        assert Conflict.objects.get().state == "open"

    def test_a_line_is_compared_although_its_job_did_not_run(
        self, project, alice, write
    ):
        write(RULE)
        text = f"[a-00002] helpful=0 harmful=0 :: {OPPOSITE}\n"
        done = import_playbook.import_text(project, text, alice, format="ace")

        with pytest.raises(Contradiction):
            decide.accept(PlaybookDelta.objects.get(pk=done.waiting[0]), alice)

        assert live() == [RULE]


class TestRefusals:
    def test_a_key_still_does_not_accept_its_own_proposal(
        self, project, client_of, write, proposed
    ):
        write(RULE)
        curator = client_of(project, role=Role.CURATOR)
        PlaybookDelta.objects.filter(pk=proposed.pk).update(key_id=curator.key.pk)

        answer = curator.post(f"{DELTAS}/{proposed.pk}/accept", {})

        assert answer.json()["code"] == "own_delta"

    def test_other_words_for_the_older_rule_must_not_contradict_a_third(
        self, alice, write, proposed
    ):
        write(RULE)
        write("Pin each version of the tools in the lock file of the project.")
        with pytest.raises(Contradiction):
            decide.accept(proposed, alice)
        third = "Never pin each version of the tools in the lock file of the project."

        with pytest.raises(Contradiction) as refusal:
            resolve_conflict.split(
                Conflict.objects.get(),
                SplitPart("in CI", third),
                SplitPart("at home"),
                alice,
            )

        assert refusal.value.extra["conflicts"] == []
        assert Conflict.objects.get().state == "open"

    def test_a_proposal_that_was_decided_meanwhile(self, alice, write, proposed):
        write(RULE)
        with pytest.raises(Contradiction):
            decide.accept(proposed, alice)
        decide.reject(proposed, alice, reason="no")

        with pytest.raises(available.DeltaState):
            decide.accept(proposed, alice)

    def test_a_writer_opens_nothing_by_accepting(self, bob, write, proposed):
        write(RULE)

        with pytest.raises(Refusal):
            decide.accept(proposed, bob)

        assert not Conflict.objects.exists()
