from __future__ import annotations

import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from inference.embedding.fake import outage
from playbook.history import votes
from playbook.history.revision import Cause
from playbook.models import Conflict, PlaybookEntry
from playbook.proposals import submission
from playbook.reading import relevance

ALWAYS = "Always run the database migrations before the test suite starts."
NEVER = ALWAYS.replace("Always", "Never")
RULE = "Run the database migrations before the test suite starts"
FAR = "Quote every argument that holds blanks or a semicolon"


@pytest.fixture
def measured(project, alice):
    def look(task):
        rows = PlaybookEntry.objects.visible_to(alice).filter(project=project)
        return relevance.measure(project, rows, task)

    return look


@pytest.fixture
def voted(alice):
    def cast(entry, kind, times=1):
        for _ in range(times):
            votes.record(
                entry.project,
                [votes.Vote(entry.pk, kind)],
                [],
                Cause(run_id=uuid.uuid4()),
                alice,
            )

    return cast


class TestGate:
    def test_relevant_entries_pass_and_others_do_not(self, write, measured):
        near, far = write(RULE), write(FAR)

        found = measured(RULE).by_id

        assert found[near.pk].is_relevant
        assert found[near.pk].similarity > 0.99
        assert not found[far.pk].is_relevant

    def test_trust_is_earned_and_lost(self):
        assert (
            relevance.required_cosine(0.5, 3, 0)
            < 0.5
            < relevance.required_cosine(0.5, 0, 3)
        )
        assert (
            relevance.required_cosine(0.5, 0, 0)
            == relevance.required_cosine(0.5, 2, 2)
            == 0.5
        )

    def test_it_stays_within_what_can_be_earned(self):
        gates = [
            relevance.required_cosine(1.0, h, x) for h in range(20) for x in range(20)
        ]

        assert min(gates) > 1 - relevance.TRUST_SHARE
        assert max(gates) < 1 + relevance.TRUST_SHARE

    def test_an_answer_must_be_nearer_than_a_rule(self, write, measured):
        answer = write(
            "When asked which fees are paid for the pier, answer `PierFees`."
        )
        rule = write("When asked which fees are paid for the pier, look at the ledger.")

        found = measured("which fees are paid at the harbour").by_id

        assert relevance.RULE_GATE < found[answer.pk].similarity < relevance.ANSWER_GATE
        assert found[rule.pk].is_relevant
        assert not found[answer.pk].is_relevant

    def test_a_helpful_entry_leads_before_a_nearer_one(self, write, measured, voted):
        proven, near = write(f"{RULE} daily"), write(RULE)
        voted(proven, "helpful", times=8)

        found = measured(RULE).by_id

        assert found[proven.pk].similarity < found[near.pk].similarity
        assert found[proven.pk].lead > found[near.pk].lead

    def test_a_harmful_entry_must_be_nearer(self, write, measured, voted):
        task = "Run the database migrations before the nightly job"
        entry = write(RULE)
        before = measured(task).by_id[entry.pk]
        voted(entry, "harmful", times=4)

        after = measured(task).by_id[entry.pk]

        assert after.similarity == before.similarity
        assert after.lead < before.lead

    def test_an_open_conflict_shuts_out_both_sides(self, write, measured, project):
        left, right = write(RULE), write(f"{RULE} again")
        Conflict.objects.create(project_id=project.pk, left=left, right=right)

        found = measured(RULE).by_id

        assert not found[left.pk].is_relevant
        assert not found[right.pk].is_relevant

    @pytest.mark.parametrize(
        ("author", "is_locked", "source", "is_given"),
        [
            ("rule", False, "agent", True),
            ("rule", False, "environment", False),
            ("rule", False, "human", False),
            ("rule", True, "environment", True),
            ("human", False, "environment", True),
        ],
    )
    def test_what_only_waits_shuts_out_what_it_could_change_itself(
        self,
        write,
        measured,
        project,
        bob,
        learned,
        author,
        is_locked,
        source,
        is_given,
    ):
        entry = write(ALWAYS, author_kind=author)
        PlaybookEntry.objects.filter(pk=entry.pk).update(locked=is_locked)
        against = learned(NEVER, feedback_source=source)

        submission.propose(project, [against], bob)

        assert Conflict.objects.get().delta.status == "pending"
        assert measured(ALWAYS).by_id[entry.pk].is_relevant is is_given

    def test_a_writers_key_that_calls_itself_human_shuts_nothing_out(
        self, write, measured, project, bob_api
    ):
        entry = write(ALWAYS, author_kind="rule")
        told = {"content": NEVER, "category": "gotchas", "reason": "I am Alice."}
        named = {"project_id": project.pk, "operation": "add", "producer": "human"}

        answer = bob_api.post("/api/v1/playbook/deltas", told | named)

        assert answer.status_code == 201, answer.json()
        assert Conflict.objects.get().delta.producer == "human"
        assert measured(ALWAYS).by_id[entry.pk].is_relevant

    @pytest.mark.parametrize(
        "changed",
        [
            {"author_kind": "rule"},
            {"author_kind": "rule", "locked": True},
            {"author_kind": "human"},
        ],
    )
    def test_a_change_that_waits_does_not_shut_out_what_it_would_change(
        self, write, measured, project, bob, learned, changed
    ):
        older, entry = write(ALWAYS, author_kind="rule"), write(FAR, **changed)
        against = learned(
            NEVER, operation="update", entry=entry, expected_version=entry.version
        )

        submission.propose(project, [against], bob)

        conflict = Conflict.objects.get()
        assert (conflict.left_id, conflict.right_id) == (older.pk, entry.pk)
        assert conflict.delta.status == "pending"
        assert measured(FAR).by_id[entry.pk].is_relevant
        assert not measured(ALWAYS).by_id[older.pk].is_relevant


class TestScope:
    def test_entries_without_a_vector_are_left_out(self, measured, write):
        with outage():
            write(RULE)

        assert not measured(RULE).by_id

    def test_without_the_embedder_there_is_a_note_instead(self, write, measured):
        write(RULE)

        with outage():
            found = measured(RULE)

        assert not found.by_id
        assert found.notes[0].startswith("no relevance")

    def test_a_named_place_is_compared_and_not_the_words_around(self, write, measured):
        entry = write("When asked about rent paid for the office, answer `Rent`.")
        asked = "Which of the many tags has"
        sentence = "the rent paid for the office was 7 million"

        plain = measured(f"{asked} this? {sentence}").by_id[entry.pk]
        named = measured(f'{asked} "7" in this?\n{sentence}').by_id[entry.pk]

        assert named.similarity > plain.similarity

    def test_it_asks_once_however_many_entries_there_are(self, write, measured):
        for place in ("here", "there", "again", "now", "still"):
            write(f"{RULE} {place}")
        measured(RULE)

        with CaptureQueriesContext(connection) as queries:
            measured(RULE)

        assert len(queries) == 1
