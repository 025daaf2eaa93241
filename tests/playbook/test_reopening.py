"""A decision that was taken back: the proposal waits again, as it was."""

from __future__ import annotations

import pytest

from audit.models import AuditEvent
from common import errors
from playbook import (
    curation,
    proposals,
    rebasing,
    reopening,
    reverting,
    reviewing,
    taking_up,
)
from playbook.models import PlaybookChange, PlaybookEntry
from tests.playbook.conftest import RULE

MORE = f"{RULE} It also takes `encoding`."
OTHER = "When running `pytest`, set `DJANGO_SETTINGS_MODULE` before."


@pytest.fixture
def waiting(project, alice, learned, set_options):
    set_options(policy="manual")

    def make(text=None, **fields):
        given = {"text": text} if text else {}
        return proposals.propose(project, [learned(**given, **fields)], alice)[0]

    return make


def test_a_rejected_proposal_waits_again(waiting, alice):
    delta = curation.reject(waiting(), alice, reason="no", reason_code="wrong")

    again = reopening.reopen(delta, alice)

    assert (again.status, again.reviewer, again.reviewed_at) == ("pending", "", None)
    assert "reason_code" not in again.payload
    assert again.vectors.count() == 1
    event = AuditEvent.objects.filter(object_id=delta.pk).latest("pk")
    assert (event.verb, event.actor) == ("delta.reopen", "alice")


def test_an_accepted_proposal_is_taken_out_and_waits_again(waiting, alice):
    delta = curation.accept(waiting(), alice)
    label = delta.entry.label

    again = reopening.reopen(delta, alice)

    assert (again.status, again.entry) == ("pending", None)
    assert not PlaybookEntry.objects.current().exists()
    assert curation.accept(again, alice).entry.label != label


def test_while_it_waits_no_revert_puts_it_in_force(waiting, project, alice):
    delta = curation.accept(waiting(), alice)
    reopening.reopen(delta, alice)
    taken_back = PlaybookChange.objects.latest("revision")

    for target in (
        reverting.change(project, taken_back.pk, alice),
        reverting.between(project, taken_back.revision - 1, None, alice),
    ):
        with pytest.raises(reviewing.DeltaState, match=str(delta.pk)):
            reverting.revert(project, target, alice)

    assert not PlaybookEntry.objects.current().exists()


def test_a_revert_of_a_range_leaves_out_what_waits_again(
    waiting, write, project, alice
):
    delta = curation.accept(waiting(), alice)
    accepted = PlaybookChange.objects.latest("revision").revision
    reopening.reopen(delta, alice)
    write(OTHER)

    target = reverting.between(project, accepted, None, alice)
    reverted = reverting.revert(project, target, alice)

    assert not PlaybookEntry.objects.current().exists()
    assert str(delta.pk) in reverted.notes[0]
    delta.refresh_from_db()
    assert delta.status == "pending"


def test_what_a_person_wrote_gives_way_to_what_was_proposed(waiting, alice):
    delta = waiting()
    proposed = (delta.content, delta.producer)
    edited = curation.edit_and_accept(delta, {"content": OTHER}, alice)

    again = reopening.reopen(edited, alice)

    assert (again.content, again.producer) == proposed
    assert again.suggested == {}


def test_a_merge_gives_the_entry_back_its_words(waiting, write, alice):
    entry = write()
    delta = waiting(MORE)
    proposed = (delta.operation, delta.content, delta.entry)
    merged = taking_up.merge_into(delta, entry, alice)
    assert merged.operation == "merge"

    again = reopening.reopen(merged, alice)

    entry.refresh_from_db()
    assert entry.content == RULE
    assert (again.operation, again.content, again.entry) == proposed


def test_a_change_waits_for_the_entry_as_it_is_now(waiting, write, alice):
    entry = write(author_kind="rule")
    delta = waiting(
        f"{entry.content} Never pass `name`.",
        operation="update",
        entry=entry,
        expected_version=entry.version,
    )
    curation.reject(delta, alice, reason="no")
    change = curation.change(entry, {"priority": 3}, alice, reason="", version=None)
    curation.edit(entry.project, change, alice)

    again = reopening.reopen(delta, alice)

    entry.refresh_from_db()
    assert again.expected_version == entry.version


def test_a_vote_counts_again_once_it_is_accepted(project, bob, alice, write, learned):
    entry = write(author_kind="rule")
    vote = learned(None, operation="vote", entry=entry, vote="helpful", evidence=())
    [delta] = proposals.propose(project, [vote], bob)

    again = reopening.reopen(delta, alice)
    entry.refresh_from_db()
    assert (delta.status, entry.helpful) == ("applied", 0)
    curation.accept(again, alice)

    entry.refresh_from_db()
    assert entry.helpful == 1


def test_it_is_refused_when_later_changes_stand_on_it(waiting, alice):
    delta = curation.accept(waiting(), alice)
    wanted = curation.change(
        delta.entry, {"content": OTHER}, alice, reason="", version=None
    )
    curation.edit(delta.project, wanted, alice)

    with pytest.raises(errors.StateConflict, match="Undo those changes first"):
        reopening.reopen(delta, alice)

    delta.refresh_from_db()
    assert delta.status == "accepted"


def test_what_waits_is_not_reopened(waiting, alice):
    with pytest.raises(reviewing.DeltaState, match="waits already"):
        reopening.reopen(waiting(), alice)


def test_a_writer_may_not(waiting, alice, bob):
    delta = curation.reject(waiting(), alice, reason="no")

    with pytest.raises(errors.Forbidden):
        reopening.reopen(delta, bob)


def test_of_two_at_once_the_second_is_refused(waiting, alice):
    delta = curation.reject(waiting(), alice, reason="no")
    reopening.reopen(delta, alice)

    with pytest.raises(errors.StaleVersion):
        reopening.reopen(delta, alice, version=delta.version)


def test_it_tells_what_changed_in_many_at_once(
    waiting, write, alice, django_assert_num_queries
):
    entry = write(author_kind="rule")
    named = {"operation": "update", "entry": entry, "expected_version": entry.version}
    deltas = [waiting(f"{entry.content} And `{n}`.", **named) for n in "ab"]
    wanted = curation.change(entry, {"content": OTHER}, alice, reason="", version=None)
    curation.edit(entry.project, wanted, alice)

    with django_assert_num_queries(2):
        found = rebasing.moved(deltas)

    assert found.keys() == {delta.pk for delta in deltas}
    for (told,) in found.values():
        assert told.columns["content"] == (entry.content, OTHER)
