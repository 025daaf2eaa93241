"""Random histories: whatever is done to memories, these things stay true of them.

MEMORY_EXAMPLES sets how many histories are drawn; the default suits every run of the
tests.
"""

from __future__ import annotations

import os
from collections import Counter
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from common import errors
from memories.duplicates import decide
from memories.lifecycle import (
    delete,
    derive,
    expire,
    lookup,
    promote,
    restore,
    supersede,
    update,
)
from memories.models import Memory
from memories.retention import compact, erase, undo_compaction
from memories.scopes import Scope
from memories.store import write
from memories.store.drafts import Draft

EXAMPLES = int(os.environ.get("MEMORY_EXAMPLES", "12"))
pytestmark = [pytest.mark.django_db, pytest.mark.timeout(60 + 4 * EXAMPLES)]
SMALL = st.integers(0, 5)
# The second is a near copy of the first: the fake embedder counts words.
TEXTS = [
    "the cache is cleared by the nightly job of the search service",
    "by the nightly job of the search service the cache is cleared",
    "zebras have stripes and nobody asks them why",
    "the harbour crane is oiled on mondays before nine",
]
SCOPES = [None, Scope("user", "u1")]
KINDS = [("note", ""), ("note", "k"), ("fact", "k")]
DEEDS = (
    "store",
    "change",
    "hide",
    "delete",
    "restore",
    "unmark",
    "supersede",
    "promote",
    "compact",
    "undo",
    "expire",
    "purge",
    "delete_scope",
    "there_and_back",
)
STEP = st.tuples(st.sampled_from(DEEDS), SMALL, SMALL)


class History:
    """Takes random steps in a project; what is refused must change nothing."""

    def __init__(self, project, caller):
        self.project, self.caller = project, caller

    def take(self, step):
        """Do it, and name it, with the code of the refusal if there was one."""
        what, n, other = step
        try:
            getattr(self, what)(n, other)
        except errors.Busy as busy:
            raise AssertionError("Nobody else is there") from busy
        except errors.Refusal as refusal:
            return f"{what}: {refusal.code}"
        return what

    def chosen(self, n):
        """One of the newest rows, or a refusal while there are none."""
        rows = list(Memory.objects.filter(project=self.project).order_by("-pk")[:6])
        if not rows:
            raise errors.NotFound
        return rows[n % len(rows)]

    def store(self, n, other):
        kind, key = KINDS[other % 3]
        draft = Draft(
            content=TEXTS[n % 4],
            memory_type="learning",
            kind=kind,
            key=key,
            scope=SCOPES[other // 3],
        )
        write.store(self.project, draft, self.caller)

    def change(self, n, other):
        changes = {"content": TEXTS[other % 4]}
        self.update(n, changes)

    def hide(self, n, other):
        changes = {"sensitivity": ("public", "private", "sensitive")[other % 3]}
        self.update(n, changes)

    def update(self, n, changes):
        memory = lookup.get_memory(self.chosen(n).pk, self.caller)
        update.update_memory(memory, changes, self.caller, None)

    def delete(self, n, other):
        delete.delete_memory(self.chosen(n).pk, self.caller)

    def restore(self, n, other):
        restore.restore_memory(self.chosen(n).pk, self.caller)

    def unmark(self, n, other):
        decide.unmark(self.chosen(n), self.caller)

    def supersede(self, n, other):
        supersede.supersede_memory(self.chosen(n), self.chosen(other), self.caller)

    def promote(self, n, other):
        memory = lookup.get_memory(self.chosen(n).pk, self.caller)
        target = Scope("workspace", str(self.project.pk))
        made = promote.prepare(
            memory, target, self.caller, delete_original=bool(other % 2)
        )
        derive.commit(made, self.caller)

    def compact(self, n, other):
        sources = [self.chosen(n), self.chosen(n + other % 3)]
        made = compact.prepare(
            self.project,
            [source.pk for source in sources],
            Scope(sources[0].scope_kind, sources[0].scope_key),
            compact.fixed_summarizer(TEXTS[other % 4]),
            self.caller,
            compact.CompactionOptions(delete_sources=bool(other % 2)),
        )
        derive.commit(made, self.caller)

    def undo(self, n, other):
        undo_compaction.undo(self.chosen(n), self.caller)

    def expire(self, n, other):
        past = timezone.now() - timedelta(seconds=1)
        Memory.objects.filter(pk=self.chosen(n).pk).update(expires_at=past)
        if other % 2:
            expire.archive_expired(self.caller)

    def purge(self, n, other):
        asked = {"ids": [self.chosen(n).pk]}
        erase.purge(
            self.project, asked, self.caller, reason="a step", cascade=bool(other % 2)
        )

    def delete_scope(self, n, other):
        if other == 0:
            delete.delete_scope(self.project, self.chosen(n).typed_scope, self.caller)

    def there_and_back(self, n, other):
        """Delete and restore at once: all is said as before, by whichever row."""
        memory, before = self.chosen(n), self.said()
        if (
            memory.deleted_at
            or memory.is_expired
            or not delete.delete_memory(memory.pk, self.caller)
        ):
            return
        restore.restore_memory(memory.pk, self.caller)
        assert not before - self.said()

    def said(self):
        """What the current rows say, and where."""
        rows = Memory.objects.current().filter(project=self.project)
        told = ("scope_hash", "sensitivity", "kind", "key", "similarity_hash")
        return Counter(rows.values_list(*told))

    def check(self):
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        rows = Memory.objects.filter(project=self.project).in_bulk()
        current = set(Memory.objects.current().values_list("pk", flat=True))
        for memory in rows.values():
            assert memory.is_duplicate == bool(memory.duplicate_of_id)
            self.check_successors(memory, rows)
            is_live = not (
                memory.deleted_at
                or memory.archived_at
                or memory.is_expired
                or memory.superseded_by_id
            )
            if memory.is_duplicate and is_live:
                original = rows[memory.duplicate_of_id]
                assert not original.is_duplicate
                assert self.speaks(original, rows, current)

    def check_successors(self, memory, rows):
        seen = set()
        while memory.superseded_by_id:
            assert memory.pk not in seen
            seen.add(memory.pk)
            memory = rows[memory.superseded_by_id]

    def speaks(self, memory, rows, current):
        """Whether it is read, or another one in its place."""
        if memory.pk in current or memory.superseded_by_id:
            return True
        if memory.is_expired and not memory.archived_at and not memory.deleted_at:
            return True  # until the next sweep
        successor = rows.get(memory.retired_into)
        if successor is None:
            return False
        if successor.is_duplicate:
            successor = successor.duplicate_of
        return self.speaks(successor, rows, current)


@pytest.fixture
def history(project, alice):
    return History(project, alice)


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=st.lists(STEP, min_size=6, max_size=25))
def test_no_text_is_hidden_behind_one_that_is_gone(history, steps):
    with transaction.atomic():
        for n, other in ((0, 0), (0, 3), (0, 5), (2, 2)):
            history.take(("store", n, other))
        for step in steps:
            event(history.take(step))
            history.check()
        transaction.set_rollback(True)
