from __future__ import annotations

import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from inference.embedding.fake import outage
from playbook.history import votes
from playbook.history.revision import Cause
from playbook.models import PlaybookEntry
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


class TestAnswers:
    def test_the_nearest_of_many_needs_less(self):
        gates = [relevance.answer_gate(count) for count in (0, 50, 100, 700, 10**6)]

        assert gates[:2] == [relevance.ANSWER_GATE] * 2
        assert gates == sorted(gates, reverse=True)
        assert gates[-1] == relevance.LEAST_GATE
