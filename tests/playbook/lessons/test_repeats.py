from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from inference.embedding.fake import outage
from jobs.models import Job
from playbook.lessons import candidates, intake, person_edits, taught
from playbook.models import (
    DeltaVector,
    LessonCandidate,
    PlaybookDelta,
    PlaybookEntry,
)
from playbook.reading import entry_list
from playbook.review import decide, revert
from tests.playbook.conftest import lesson, occasion

LESSON = "Always run the database migrations before the test suite starts."
AGAIN = "Always run database migrations before the test suite starts"


@pytest.fixture
def learn(teach):
    """A run that brings a lesson, told by tests unless said otherwise."""

    def bring(text=LESSON, **fields):
        source = fields.get("feedback_source", "test")
        return teach(text, speaker="test" if source == "test" else "agent", **fields)

    return bring


@pytest.fixture
def rejected(learn, alice):
    delta = learn(feedback_source="agent")
    return decide.reject(delta, alice, reason="We never do that.")


class TestRejected:
    @pytest.mark.parametrize("text", [LESSON, LESSON.upper(), AGAIN])
    def test_it_is_known_again_by_its_text_and_by_its_words(
        self, learn, rejected, text
    ):
        again = learn(text)

        rejected.refresh_from_db()
        assert (again.status, again.reviewer) == ("rejected", "")
        assert str(rejected.pk) in again.review_note
        assert rejected.seen_again == 1
        assert not PlaybookEntry.objects.exists()

    def test_its_opposite_waits_and_names_it(self, learn, rejected):
        opposite = learn(LESSON.replace("Always", "Never"))

        assert opposite.status == "pending"
        assert str(rejected.pk) in opposite.review_note

    def test_it_counts_a_run_once(self, learn, rejected):
        run_id = uuid.uuid4()

        learn(run_id=run_id)
        learn(AGAIN, run_id=run_id)

        rejected.refresh_from_db()
        assert rejected.seen_again == 1

    def test_it_is_back_in_the_inbox_at_the_fifth_time(self, learn, rejected):
        met = [learn() for _ in range(5)]

        rejected.refresh_from_db()
        assert [delta.status for delta in met] == ["rejected"] * 4 + ["pending"]
        assert "recurred 5 times" in met[-1].review_note
        assert rejected.seen_again == 0

    def test_the_count_restarts_when_a_person_rejects_it_again(
        self, learn, rejected, alice
    ):
        back = [learn() for _ in range(5)][-1]
        decide.reject(back, alice, reason="Still no.")

        met = [learn() for _ in range(5)]

        assert [delta.status for delta in met] == ["rejected"] * 4 + ["pending"]
        assert str(back.pk) in met[0].review_note

    def test_it_counts_for_an_entry_that_a_person_wrote_since(
        self, learn, rejected, write
    ):
        entry = write(LESSON)

        again = learn()

        entry.refresh_from_db()
        assert (again.operation, again.status) == ("vote", "applied")
        assert entry.helpful == 1

    def test_it_is_none_of_a_persons_own_words(self, rejected, write):
        assert write(LESSON).is_live

    def test_what_the_gates_refused_is_not_remembered(self, learn):
        refused = learn(quotes=[])

        assert refused.status == "rejected"
        assert learn().status == "applied"

    def test_it_is_known_by_its_text_when_the_model_is_down(
        self, learn, rejected, run_jobs
    ):
        with outage():
            again = learn()

        assert again.status == "rejected"

    def test_a_job_embeds_what_came_while_the_model_was_down(
        self, learn, alice, run_jobs
    ):
        with outage():
            decide.reject(learn(), alice, reason="No.")
        assert not DeltaVector.objects.exists()

        run_jobs()

        assert learn(AGAIN).status == "rejected"


class TestRetired:
    @pytest.fixture
    def retire(self, project, alice):
        def act(entry, operation="deprecate"):
            wanted = person_edits.person_change(
                operation, {}, alice, reason="No.", entry=entry
            )
            return person_edits.submit_edit(project, wanted, alice)

        return act

    @pytest.mark.parametrize("operation", ["deprecate", "delete"])
    @pytest.mark.parametrize("text", [LESSON, AGAIN])
    def test_it_does_not_return_without_a_person(self, learn, retire, operation, text):
        entry = learn().entry
        retire(entry, operation)

        again = learn(text)

        assert again.status == "pending"
        assert again.review_note.startswith(f"{entry.label} said this")
        assert learn(text).status == "rejected"

    def test_it_does_not_return_after_an_undo(self, learn, alice):
        revert.undo_delta(learn(), alice)

        assert learn().status == "pending"

    def test_what_is_like_it_waits(self, learn, retire):
        retire(learn().entry)

        assert learn(LESSON.replace("Always", "Never")).status == "pending"

    def test_it_returns_when_a_person_accepts_it(self, learn, retire, alice):
        retire(learn().entry)

        decide.accept(learn(), alice)

        assert learn().operation == "vote"

    def test_an_entry_merged_into_another_is_not_retired(
        self, project, learn, write, alice
    ):
        entry, kept = learn().entry, write("Keep `uv.lock` beside the other files.")
        wanted = person_edits.person_change(
            "merge",
            {},
            alice,
            reason="",
            entry=kept,
            targets=({"id": str(entry.pk)},),
        )
        person_edits.submit_edit(project, wanted, alice)

        assert learn().status == "applied"

    def test_a_text_that_the_model_refuses_does_not_hold_up_the_others(
        self, learn, run_jobs, refuse
    ):
        with outage():
            odd = learn(LESSON.replace("database", "odd"), feedback_source="agent")
            other = learn(feedback_source="agent")
        refuse("odd")

        run_jobs()

        job = Job.objects.get(kind="embed_deltas")
        assert (job.state, job.result["refused"]) == ("done", [f"{odd.pk}: too odd"])
        assert [vector.delta for vector in DeltaVector.objects.all()] == [other]


class TestWaiting:
    def test_the_inbox_shows_a_lesson_once(self, learn):
        first = learn(feedback_source="agent")

        second = learn(AGAIN, feedback_source="agent")

        first.refresh_from_db()
        assert (first.status, second.status) == ("pending", "rejected")
        assert "waits already" in second.review_note
        assert first.seen_again == 1

    def test_what_is_trusted_does_not_wait_with_it(self, learn):
        learn(feedback_source="agent")

        assert learn(feedback_source="test").status == "applied"

    def test_an_accepted_lesson_is_forgotten_here(self, learn, alice):
        decide.accept(learn(feedback_source="agent"), alice)

        assert not DeltaVector.objects.exists()
        assert learn().operation == "vote"


class TestBatches:
    def both(self, project, bob, **fields):
        at = occasion(LESSON, AGAIN, **fields)
        return intake.take(project, [lesson(LESSON), lesson(AGAIN)], at, bob)

    def test_two_alike_of_one_run_are_one_rule_without_a_vote_of_its_own(
        self, project, bob
    ):
        deltas = self.both(project, bob)

        assert [delta.operation for delta in deltas] == ["add", "vote"]
        assert PlaybookEntry.objects.get().helpful == 0

    def test_two_alike_of_one_run_wait_once(self, project, bob):
        deltas = self.both(project, bob, speaker="agent", feedback_source="agent")

        assert [delta.status for delta in deltas] == ["pending", "rejected"]

    def test_it_looks_again_at_what_was_prepared_before_another_write(
        self, project, bob
    ):
        prepared = [
            intake.prepare(
                project,
                taught.read(project, [lesson(text)], occasion(text), bob),
                bob,
            )
            for text in (LESSON, AGAIN)
        ]

        deltas = [intake.file(one)[0] for one in prepared]

        assert [delta.operation for delta in deltas] == ["add", "vote"]
        assert PlaybookDelta.objects.count() == 2

    def test_an_occasion_teaches_a_lesson_once(self, project, bob):
        at = occasion(LESSON)
        first, second = (
            intake.take(project, [lesson(LESSON)], at, bob) for _ in range(2)
        )

        assert [delta.pk for delta in first] == [delta.pk for delta in second]
        assert PlaybookDelta.objects.count() == 1


class TestCandidates:
    """What is passed over as general is counted; the third session proposes it."""

    @pytest.fixture
    def tell(self, project, bob):
        def say(session, text=LESSON, caller=bob, said=None):
            said = said or f"{text} ({session})"
            at = occasion(
                said,
                speaker="person",
                session=session,
                run_id=None,
                feedback_source="agent",
            )
            given = lesson(
                text, operation="candidate", quotes=[said], kind="preference"
            )
            return intake.take(project, [given], at, caller)

        return say

    def test_the_third_session_proposes_it_with_all_three_quotes(self, tell, bob):
        told = [tell("one"), tell("one"), tell("two", AGAIN), tell("three")]

        assert [len(deltas) for deltas in told] == [0, 0, 0, 1]
        [delta] = told[-1]
        assert (delta.status, delta.served_persons) == ("pending", [bob.person])
        ends = [quote["quote"].rpartition(" ")[2] for quote in delta.evidence]
        assert ends == ["(one)", "(two)", "(three)"]
        assert not LessonCandidate.objects.exists()

    def test_a_fourth_session_repeats_the_proposal(self, tell):
        for session in ("one", "two", "three"):
            told = tell(session)

        [again] = tell("four")

        assert (again.status, again.payload["repeats"]) == ("rejected", str(told[0].pk))

    def test_words_that_nobody_said_are_not_counted(self, tell, project, bob):
        at = occasion("Something else.", session="one", run_id=None)
        given = lesson(LESSON, operation="candidate")

        assert intake.take(project, [given], at, bob) == []
        assert not LessonCandidate.objects.exists()

    def test_a_project_sees_its_own_candidates(self, tell, alice, charlie):
        tell("one")

        assert LessonCandidate.objects.visible_to(alice).count() == 1
        assert LessonCandidate.objects.visible_to(charlie).count() == 0

    def test_it_is_forgotten_after_90_days(self, tell, project):
        tell("one")
        LessonCandidate.objects.update(updated_at=timezone.now() - timedelta(days=91))

        assert candidates.prune(project) == 1


class TestConfirming:
    def confirm(self, project, caller, entry, said, speaker, **fields):
        at = occasion(said, speaker=speaker, feedback_source="agent", **fields)
        given = lesson(
            entry.content, operation="confirm", label=entry.label, quotes=[said]
        )
        return next(iter(intake.take(project, [given], at, caller)), None)

    def test_a_persons_words_confirm_a_rule(self, project, bob, write, memory):
        entry = write(LESSON)

        said = "Right, the migrations come first."
        delta = self.confirm(project, bob, entry, said, "person", memory_id=memory.pk)

        entry.refresh_from_db()
        assert (delta.operation, delta.status, entry.helpful) == ("vote", "applied", 1)
        assert entry.supporting_memory_ids == [str(memory.pk)]

    def test_that_an_agent_did_it_again_confirms_nothing(self, project, alice, write):
        entry = write(LESSON)

        delta = self.confirm(project, alice, entry, "I ran them first again.", "agent")

        entry.refresh_from_db()
        assert (delta, entry.helpful, entry.neutral) == (None, 0, 0)

    @pytest.mark.parametrize("who", ["alice", "bob"])
    def test_a_contradiction_contests_the_rule_until_a_person_decides(
        self, request, project, alice, write, who
    ):
        caller, entry = request.getfixturevalue(who), write(LESSON, author_kind="rule")
        text = "Run the database migrations after the test suite, not before it."
        given = lesson(text, operation="contradict", label=entry.label)
        at = occasion(text, speaker="person", feedback_source="agent")

        [delta] = intake.take(project, [given], at, caller)

        assert (delta.operation, delta.status) == ("update", "pending")
        # Only a key that may attest puts a rule in doubt.
        is_contested = entry.pk in entry_list.contested_ids(project)
        assert is_contested == (who == "alice")
        decide.accept(delta, alice)
        entry.refresh_from_db()
        assert entry.content == text
        assert not entry_list.contested_ids(project)

    def test_a_contradiction_without_words_of_its_own_proposes_to_retire(
        self, project, alice, write
    ):
        entry, said = (
            write(LESSON, author_kind="rule"),
            "There is no database any more.",
        )
        given = lesson(
            entry.content, operation="contradict", label=entry.label, quotes=[said]
        )
        at = occasion(said, speaker="person", feedback_source="agent")

        [delta] = intake.take(project, [given], at, alice)

        assert (delta.operation, delta.status) == ("deprecate", "pending")
        assert entry.pk in entry_list.contested_ids(project)
