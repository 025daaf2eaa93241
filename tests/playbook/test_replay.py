from __future__ import annotations

import json
import uuid

import pytest
from django.db import InternalError, connection, transaction
from django.db.utils import DatabaseError, IntegrityError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from common import errors
from playbook import curation, proposals, replay, undoing, votes
from playbook.models import Playbook, PlaybookChange, PlaybookDelta, PlaybookEntry
from playbook.revisions import Cause

WORDS = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot"]
STEPS = st.tuples(
    st.sampled_from(
        [
            *("add", "learn", "edit", "delete", "restore", "deprecate", "tag"),
            *("merge", "vote", "accept", "reject", "undo"),
        ]
    ),
    st.integers(0, 5),
    st.integers(0, 5),
)


def take(step, project, alice, bob, memory, learned):
    """One step of a random history; what is refused changes nothing."""
    kind, n, other = step
    entries = list(PlaybookEntry.objects.light().order_by("pk"))
    deltas = list(PlaybookDelta.objects.order_by("pk"))
    entry = entries[n % len(entries)] if entries else None
    delta = deltas[other % len(deltas)] if deltas else None
    text = f"Run `{WORDS[n]}` before {WORDS[other]} in `src/{WORDS[n]}.py`."
    by_person = {"reason": "a step"}
    if kind == "add":
        changes = {"content": text, "category": "gotchas", "tags": [WORDS[other]]}
        curation.edit(project, curation.addition(changes, alice, reason=""), alice)
    elif kind == "learn":
        source = "agent" if other % 2 else "test"
        proposal = learned(text, feedback_source=source, memory_id=memory.pk)
        proposals.propose(project, [proposal], bob)
    elif kind == "vote" and entry:
        cause = Cause(run_id=uuid.uuid4(), memory_id=memory.pk)
        votes.vote(entry, ("helpful", "harmful", "neutral")[other % 3], cause, bob)
    elif kind in ("accept", "reject", "undo") and delta:
        if kind == "accept":
            curation.accept(delta, alice)
        elif kind == "reject":
            curation.reject(delta, alice, reason="no")
        else:
            undoing.undo(delta, alice)
    elif entry:
        changes = {
            "edit": {"content": text, "priority": other, "pinned": bool(other % 2)},
            "tag": {"tags": [WORDS[n], WORDS[other]]},
        }.get(kind, {})
        taken = entries[other % len(entries)]
        targets = ({"id": str(taken.pk)},) if kind == "merge" else ()
        operation = "update" if kind == "edit" else kind
        wanted = curation.proposed(
            operation, changes, alice, entry=entry, targets=targets, **by_person
        )
        curation.edit(project, wanted, alice)


def as_bytes(states):
    plain = {str(pk): state for pk, state in states.items()}
    return json.dumps(plain, sort_keys=True).encode()


class TestReplay:
    @settings(
        max_examples=25,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(steps=st.lists(STEPS, max_size=25))
    def test_it_gives_the_present_state_byte_for_byte(
        self, project, alice, bob, memory, learned, steps
    ):
        with transaction.atomic():
            at_revisions = {}
            for step in steps:
                try:
                    with transaction.atomic():
                        take(step, project, alice, bob, memory, learned)
                except errors.Refusal:
                    continue
                playbook = Playbook.objects.filter(project=project).first()
                number = playbook.revision if playbook else 0
                at_revisions[number] = as_bytes(replay.present(project))

            for number, present in at_revisions.items():
                assert as_bytes(replay.state_at(project, number)) == present
            self.check_playbook(project)
            transaction.set_rollback(True)

    @staticmethod
    def check_playbook(project):
        entries = PlaybookEntry.objects.light().filter(project=project)
        playbook = Playbook.objects.filter(project=project).first()
        if playbook is None:
            assert not entries
            return
        labels = [entry.label for entry in entries]
        assert playbook.tokens == sum(entry.tokens for entry in entries)
        assert playbook.next_label == len(labels) + 1
        assert len(set(labels)) == len(labels)
        revisions = PlaybookChange.objects.filter(project_id=project.pk)
        numbers = set(revisions.order_by().values_list("revision", flat=True))
        assert numbers == set(range(1, playbook.revision + 1))


@pytest.fixture
def change(write):
    write()
    return PlaybookChange.objects.get()


class TestAppendOnly:
    def test_it_refuses_to_change_a_change(self, change):
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            PlaybookChange.objects.filter(pk=change.pk).update(reason="another")

    def test_it_refuses_to_delete_a_change(self, change):
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            change.delete()

    def test_it_refuses_raw_sql_as_well(self, change):
        with (
            pytest.raises((InternalError, IntegrityError), match="append-only"),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute("DELETE FROM playbook_playbookchange")
