"""Rules that answer a question."""

from __future__ import annotations

import pytest

from playbook.entries import matches, neighbours

ASKED = "the total rent of all offices paid to one owner during the year"


def rule(answer, asked=ASKED):
    return f"When asked {asked}, answer `{answer}`."


@pytest.fixture
def add(teach):
    def propose(answer, asked=ASKED):
        return teach(rule(answer, asked), kind="answer")

    return propose


class TestPlacing:
    def test_the_same_answer_to_a_near_question_is_a_vote(self, add):
        first = add("LeaseAndRentalExpense")

        again = add("LeaseAndRentalExpense", f"{ASKED} 2018")

        assert (again.operation, again.status) == ("vote", "applied")
        assert again.entry_id == first.entry_id

    def test_another_answer_to_the_same_question_waits_and_names_the_first(self, add):
        first = add("LeaseAndRentalExpense")

        other = add("PaymentsForRent")

        assert (other.operation, other.status) == ("add", "pending")
        assert first.entry.label in other.review_note

    def test_another_answer_to_a_near_question_is_a_rule_of_its_own(self, add):
        add("LeaseAndRentalExpense")

        other = add("PaymentsForRent", f"{ASKED} before")

        assert (other.operation, other.status) == ("add", "applied")

    def test_the_same_answer_to_a_distant_question_needs_no_person(self, add):
        add("LeaseAndRentalExpense")

        other = add("LeaseAndRentalExpense", "the rent of offices and cars in spring")

        assert (other.operation, other.status) == ("add", "applied")

    def test_they_are_never_merged(self, project, add):
        entry = add("LeaseAndRentalExpense").entry
        near = neighbours.Neighbour(entry, 0.97)

        match = matches.compare(rule("PaymentsForRent", f"{ASKED} 7"), near)

        assert match.verdict == "new"
