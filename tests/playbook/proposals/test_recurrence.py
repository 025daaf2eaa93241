from __future__ import annotations

import uuid

import pytest

from inference.embedding.fake import outage
from jobs.models import Job
from playbook.models import DeltaVector, PlaybookDelta, PlaybookEntry
from playbook.proposals import person_edits, submission
from playbook.review import decide, revert

LESSON = "Always run the database migrations before the test suite starts."
AGAIN = "Always run database migrations before the test suite starts"


@pytest.fixture
def learn(project, bob, learned):
    """A run that brings a lesson, told by tests unless said otherwise."""

    def bring(text=LESSON, **fields):
        [delta] = submission.propose(project, [learned(text, **fields)], bob)
        return delta

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
        refused = learn(evidence=())

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
            wanted = person_edits.person_proposal(
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
        wanted = person_edits.person_proposal(
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
    def test_two_alike_of_one_run_are_one_entry(self, project, bob, learned):
        run_id = uuid.uuid4()
        both = [learned(text, run_id=run_id) for text in (LESSON, AGAIN)]

        deltas = submission.propose(project, both, bob)

        assert [delta.operation for delta in deltas] == ["add", "vote"]
        assert PlaybookEntry.objects.count() == 1

    def test_two_alike_of_one_run_wait_once(self, project, bob, learned):
        fields = {"run_id": uuid.uuid4(), "feedback_source": "agent"}
        both = [learned(text, **fields) for text in (LESSON, AGAIN)]

        deltas = submission.propose(project, both, bob)

        assert [delta.status for delta in deltas] == ["pending", "rejected"]

    def test_it_looks_again_at_what_was_prepared_before_another_write(
        self, project, bob, learned
    ):
        prepared = [
            submission.prepare(project, [learned(text)], bob)
            for text in (LESSON, AGAIN)
        ]

        deltas = [submission.submit(one)[0] for one in prepared]

        assert [delta.operation for delta in deltas] == ["add", "vote"]
        assert PlaybookDelta.objects.count() == 2
