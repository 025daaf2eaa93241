from __future__ import annotations

import pytest
from django.db import connection, connections
from django.db.backends.postgresql import base

from common.postgresql import base as ours

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def other():
    """A connection that was checked a moment ago."""
    made = connections.create_connection("default")
    made.ensure_connection()
    assert made.is_usable()
    yield made
    made.close()


@pytest.fixture
def checks(monkeypatch):
    """How often the server was checked."""
    checks = []
    real = base.DatabaseWrapper.is_usable

    def is_usable(self):
        checks.append(self)
        return real(self)

    monkeypatch.setattr(base.DatabaseWrapper, "is_usable", is_usable)
    return checks


def pid_of(link):
    with link.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return cursor.fetchone()[0]


def test_a_connection_in_use_is_not_checked(other, checks):
    assert other.is_usable()
    assert not checks


def test_one_after_a_pause_is_checked(other, checks, monkeypatch):
    monkeypatch.setattr(ours, "RECENT_SECONDS", 0.0)

    assert other.is_usable()
    assert len(checks) == 1


def test_one_inside_a_transaction_is_checked(other, checks):
    other.set_autocommit(False)
    pid_of(other)

    assert other.is_usable()
    assert len(checks) == 1
    other.rollback()


def test_one_that_the_server_closed_is_replaced(other):
    ended = pid_of(other)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [ended])
        assert cursor.fetchone() == (True,)

    assert not other.is_usable()

    other.health_check_enabled = True
    other.health_check_done = False
    other.close_if_health_check_failed()
    assert pid_of(other) != ended


def test_a_closed_one_is_not_usable(other):
    other.close()

    assert not other.is_usable()
