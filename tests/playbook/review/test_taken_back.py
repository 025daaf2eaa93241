"""What a person does who decided by mistake, and what changed since a proposal."""

from __future__ import annotations

import pytest

from playbook.lessons import person_edits
from playbook.models import PlaybookDelta, PlaybookEntry
from playbook.review import available, decide, renewal, revert
from tests.playbook.conftest import propose

OTHER = "When running `pytest`, set `DJANGO_SETTINGS_MODULE` before."


@pytest.fixture
def waiting(project, alice, learned, set_options):
    set_options(policy="manual")

    def make(text=None, **fields):
        given = {"text": text} if text else {}
        return propose(project, [learned(**given, **fields)], alice)[0]

    return make


def test_an_undone_undo_is_an_undo(waiting, alice):
    accepted = decide.accept(waiting(), alice)
    undone = revert.undo_delta(accepted, alice)
    assert (undone.status, PlaybookEntry.objects.get().status) == (
        "reverted",
        "deleted",
    )

    again = revert.undo_delta(undone, alice, version=undone.version)

    assert (again.status, again.reviewer) == ("accepted", "alice")
    assert PlaybookEntry.objects.get().is_live


def test_a_rule_that_was_rejected_by_mistake_can_be_written_again(
    waiting, project, alice
):
    rejected = decide.reject(waiting(), alice, reason="a mistake")
    changes = {"content": rejected.content, "category": "gotchas"}

    wanted = person_edits.addition(changes, alice, reason="It is right.")
    added = person_edits.submit_edit(project, wanted, alice)

    assert (added.status, added.entry.content) == ("applied", rejected.content)
    rejected.refresh_from_db()
    assert rejected.status == "rejected"


def test_what_is_rejected_cannot_be_undone(waiting, alice):
    rejected = decide.reject(waiting(), alice, reason="no")

    with pytest.raises(available.NotInForce):
        revert.undo_delta(rejected, alice)

    assert PlaybookDelta.objects.get().status == "rejected"


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
        found = renewal.find_drift(deltas)

    assert found.keys() == {delta.pk for delta in deltas}
    for (told,) in found.values():
        assert told.columns["content"] == (entry.content, OTHER)
