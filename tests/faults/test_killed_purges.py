"""A process is killed with -9 while it purges: everything went, or nothing."""

from __future__ import annotations

import os
import signal

import pytest
from django.db import connection

from common.erasure import row_erasure
from memories.models import Memory, MemoryChange, MemoryVector, Purge
from memories.personal_data import MemoryErasure
from memories.retention import erase
from tests.faults.test_killed_compactions import die_at
from tests.memories.conftest import lines
from tests.memories.conftest import stored as stored
from tests.memories.retention.test_erase import traces

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]
ASKED = {"user_id": "bob"}
# In the middle of the masking, when all rows are written, and just before the commit.
MOMENTS = [
    (row_erasure, "_erase_batch", 2),
    (MemoryErasure, "finish", 1),
    (erase.trail, "record", 1),
]


def killed_in(act):
    """Run something in a process of its own, which is killed in the middle of it."""
    child = os.fork()
    if child == 0:
        kept, connection.connection = connection.connection, None
        try:
            act()
        finally:
            os._exit(0 if kept else 1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGKILL


def state():
    rows = Memory.objects.light().order_by("pk")
    return (
        list(rows.values("content", "deleted_at", "version", "user_id")),
        list(MemoryChange.objects.order_by("pk").values()),
        MemoryVector.objects.count(),
    )


@pytest.fixture
def bobs(stored):
    return stored(*lines(5), user_id="bob")


@pytest.mark.parametrize(("module", "name", "calls"), MOMENTS)
class TestAPurge:
    def test_nothing_has_changed_and_the_next_one_takes_it_all(
        self, project, alice, bobs, monkeypatch, module, name, calls
    ):
        before = state()

        with monkeypatch.context() as patch:
            die_at(patch, module, name, calls)
            killed_in(lambda: erase.purge(project, ASKED, alice, reason="asked"))

        assert state() == before
        assert not Purge.objects.exists()
        erase.purge(project, ASKED, alice, reason="asked")
        assert not any(traces(text.lower()) for text in lines(5))
