"""Reopen a decided proposal: it waits again, as it was."""

from __future__ import annotations

import pytest

from audit.models import AuditEvent
from common import errors
from playbook.models import PlaybookChange, PlaybookEntry
from playbook.proposals import person_edits, submission
from playbook.review import (
    available,
    decide,
    merge_into_entry,
    rebase,
    reopen,
    revert,
)
from tests.playbook.conftest import RULE

MORE = f"{RULE} It also takes `encoding`."
OTHER = "When running `pytest`, set `DJANGO_SETTINGS_MODULE` before."


@pytest.fixture
def waiting(project, alice, learned, set_options):
    set_options(policy="manual")

    def make(text=None, **fields):
        given = {"text": text} if text else {}
        return submission.propose(project, [learned(**given, **fields)], alice)[0]

    return make


def test_a_rejected_proposal_waits_again(waiting, alice):
    delta = decide.reject(waiting(), alice, reason="no", reason_code="wrong")

    again = reopen.reopen_delta(delta, alice)

    assert (again.status, again.reviewer, again.reviewed_at) == ("pending", "", None)
    assert "reason_code" not in again.payload
    assert again.vectors.count() == 1
    event = AuditEvent.objects.filter(object_id=delta.pk).latest("pk")
    assert (event.verb, event.actor) == ("delta.reopen", "alice")


def test_an_accepted_proposal_is_undone_and_waits_again(waiting, alice):
    delta = decide.accept(waiting(), alice)
    label = delta.entry.label

    again = reopen.reopen_delta(delta, alice)

    assert (again.status, again.entry) == ("pending", None)
    assert not PlaybookEntry.objects.current().exists()
    assert decide.accept(again, alice).entry.label != label


def test_while_it_waits_no_revert_puts_it_in_force(waiting, project, alice):
    delta = decide.accept(waiting(), alice)
    reopen.reopen_delta(delta, alice)
    taken_back = PlaybookChange.objects.latest("revision")

    for target in (
        revert.change_target(project, taken_back.pk, alice),
        revert.range_target(project, taken_back.revision - 1, None, alice),
    ):
        with pytest.raises(available.DeltaState, match=str(delta.pk)):
            revert.revert_changes(project, target, alice)

    assert not PlaybookEntry.objects.current().exists()


def test_a_revert_of_a_range_leaves_out_what_waits_again(
    waiting, write, project, alice
):
    delta = decide.accept(waiting(), alice)
    accepted = PlaybookChange.objects.latest("revision").revision
    reopen.reopen_delta(delta, alice)
    write(OTHER)

    target = revert.range_target(project, accepted, None, alice)
    reverted = revert.revert_changes(project, target, alice)

    assert not PlaybookEntry.objects.current().exists()
    assert str(delta.pk) in reverted.notes[0]
    delta.refresh_from_db()
    assert delta.status == "pending"


def test_the_original_proposal_replaces_a_persons_words(waiting, alice):
    delta = waiting()
    proposed = (delta.content, delta.producer)
    edited = decide.edit_and_accept(delta, {"content": OTHER}, alice)

    again = reopen.reopen_delta(edited, alice)

    assert (again.content, again.producer) == proposed
    assert again.suggested == {}


def test_a_merge_restores_the_text_of_the_entry(waiting, write, alice):
    entry = write()
    delta = waiting(MORE)
    proposed = (delta.operation, delta.content, delta.entry)
    merged = merge_into_entry.merge(delta, entry, alice)
    assert merged.operation == "merge"

    again = reopen.reopen_delta(merged, alice)

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
    decide.reject(delta, alice, reason="no")
    change = person_edits.change(entry, {"priority": 3}, alice, reason="", version=None)
    person_edits.submit_edit(entry.project, change, alice)

    again = reopen.reopen_delta(delta, alice)

    entry.refresh_from_db()
    assert again.expected_version == entry.version


def test_a_vote_counts_again_once_it_is_accepted(project, bob, alice, write, learned):
    entry = write(author_kind="rule")
    vote = learned(None, operation="vote", entry=entry, vote="helpful", evidence=())
    [delta] = submission.propose(project, [vote], bob)

    again = reopen.reopen_delta(delta, alice)
    entry.refresh_from_db()
    assert (delta.status, entry.helpful) == ("applied", 0)
    decide.accept(again, alice)

    entry.refresh_from_db()
    assert entry.helpful == 1


def test_it_is_refused_if_later_changes_depend_on_it(waiting, alice):
    delta = decide.accept(waiting(), alice)
    wanted = person_edits.change(
        delta.entry, {"content": OTHER}, alice, reason="", version=None
    )
    person_edits.submit_edit(delta.project, wanted, alice)

    with pytest.raises(errors.StateConflict, match="Undo those changes first"):
        reopen.reopen_delta(delta, alice)

    delta.refresh_from_db()
    assert delta.status == "accepted"


def test_what_waits_is_not_reopened(waiting, alice):
    with pytest.raises(available.DeltaState, match="already waits"):
        reopen.reopen_delta(waiting(), alice)


def test_a_writer_may_not(waiting, alice, bob):
    delta = decide.reject(waiting(), alice, reason="no")

    with pytest.raises(errors.Forbidden):
        reopen.reopen_delta(delta, bob)


def test_of_two_at_once_the_second_is_refused(waiting, alice):
    delta = decide.reject(waiting(), alice, reason="no")
    reopen.reopen_delta(delta, alice)

    with pytest.raises(errors.StaleVersion):
        reopen.reopen_delta(delta, alice, version=delta.version)


def test_it_tells_what_changed_in_many_at_once(
    waiting, write, alice, django_assert_num_queries
):
    entry = write(author_kind="rule")
    named = {"operation": "update", "entry": entry, "expected_version": entry.version}
    deltas = [waiting(f"{entry.content} And `{n}`.", **named) for n in "ab"]
    wanted = person_edits.change(
        entry, {"content": OTHER}, alice, reason="", version=None
    )
    person_edits.submit_edit(entry.project, wanted, alice)

    with django_assert_num_queries(2):
        found = rebase.find_drift(deltas)

    assert found.keys() == {delta.pk for delta in deltas}
    for (told,) in found.values():
        assert told.columns["content"] == (entry.content, OTHER)
