from __future__ import annotations

from pathlib import Path

import pytest

from playbook.models import PlaybookEntry
from playbook.proposals import submission

TESTS = Path(__file__).parents[2]
ATTACKS = [
    line
    for path in (
        *("common/text/danger/dangerous.txt", "common/text/danger/translated.txt"),
        "context/digest/attacks.txt",
    )
    for line in (TESTS / path).read_text(encoding="utf-8").split("\n")
    if line
]


class TestAttacks:
    @pytest.mark.parametrize("policy", ["assisted", "auto"])
    def test_none_is_live_without_a_person(
        self, project, bob, learned, set_options, policy
    ):
        set_options(policy=policy)
        lessons = [learned(each, feedback_source="agent") for each in ATTACKS]

        deltas = submission.propose(project, lessons, bob)

        assert {delta.status for delta in deltas} <= {"pending", "rejected"}
        assert PlaybookEntry.objects.count() == 0


@pytest.mark.parametrize(
    ("policy", "source", "status"),
    [
        ("manual", "test", "pending"),
        ("manual", "human", "pending"),
        ("assisted", "test", "applied"),
        ("assisted", "environment", "applied"),
        ("assisted", "human", "applied"),
        ("assisted", "agent", "pending"),
        ("auto", "agent", "pending"),
        ("auto", "test", "applied"),
    ],
)
class TestAdditions:
    def test_it_applies_what_the_policy_trusts(
        self, project, bob, learned, set_options, policy, source, status
    ):
        set_options(policy=policy)

        [delta] = submission.propose(project, [learned(feedback_source=source)], bob)

        assert delta.status == status
        assert PlaybookEntry.objects.count() == (status == "applied")


class TestOwnWord:
    def test_auto_applies_it_from_a_caller_who_may_attest(
        self, project, alice, learned, set_options
    ):
        set_options(policy="auto")

        [delta] = submission.propose(project, [learned(feedback_source="agent")], alice)

        assert delta.status == "applied"

    def test_auto_lets_it_wait_from_another_caller_and_says_why(
        self, project, bob, learned, set_options
    ):
        set_options(policy="auto")

        [delta] = submission.propose(project, [learned(feedback_source="agent")], bob)

        assert delta.status == "pending"
        assert "may not attest" in delta.review_note


@pytest.mark.parametrize(
    ("policy", "status"),
    [("manual", "pending"), ("assisted", "pending"), ("auto", "applied")],
)
class TestUpdates:
    def test_it_waits_for_a_person_unless_the_policy_is_auto(
        self, project, bob, learned, write, set_options, policy, status
    ):
        set_options(policy=policy)
        entry = write(author_kind="rule")
        text = f"{entry.content} It knows no `file`."
        update = learned(text, operation="update", entry=entry)

        [delta] = submission.propose(project, [update], bob)

        entry.refresh_from_db()
        assert delta.status == status
        assert (entry.content == text) == (status == "applied")


@pytest.mark.parametrize("policy", ["manual", "assisted", "auto"])
class TestVotes:
    def test_it_applies_votes_under_every_policy_even_on_locked_entries(
        self, project, bob, learned, write, set_options, policy
    ):
        set_options(policy=policy)
        entry = write(locked=True)

        [delta] = submission.propose(project, [learned(entry.content)], bob)

        entry.refresh_from_db()
        assert (delta.operation, delta.status) == ("vote", "applied")
        assert (entry.helpful, entry.version) == (1, 1)


class TestRepeating:
    def test_it_does_nothing_for_a_key_that_is_known(self, project, bob, learned):
        proposal = learned(idempotency_key="k" * 64)
        [first] = submission.propose(project, [proposal], bob)

        [second] = submission.propose(project, [proposal], bob)

        assert second.pk == first.pk
        assert PlaybookEntry.objects.count() == 1

    def test_it_does_not_count_the_agents_own_word_as_a_helpful_vote(
        self, project, bob, learned, write
    ):
        entry = write()

        submission.propose(
            project, [learned(entry.content, feedback_source="agent")], bob
        )

        entry.refresh_from_db()
        assert (entry.helpful, entry.neutral) == (0, 1)


class TestLanguage:
    def test_a_lesson_that_the_gates_cannot_read_waits_and_is_not_of_low_risk(
        self, project, alice, learned, set_options
    ):
        set_options(policy="auto")
        text = "Import der Mandanten immer vor dem Test mit `make seed` ausführen."
        lesson = learned(text, feedback_source="test")

        [delta] = submission.propose(project, [lesson], alice)

        assert (delta.status, delta.risk) == ("pending", "high")
        assert "not in English" in delta.review_note
