from __future__ import annotations

import pytest
from django.db import connection, connections
from django.db.backends.postgresql import base

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def other():
    made = connections.create_connection("default")
    made.ensure_connection()
    yield made
    made.close()


def pid_of(link):
    with link.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return cursor.fetchone()[0]


def test_a_connection_at_rest_is_taken_as_it_is(other, monkeypatch):
    def asked(self):
        raise AssertionError("a round trip for nothing")

    monkeypatch.setattr(base.DatabaseWrapper, "is_usable", asked)

    assert other.is_usable()


def test_a_connection_that_the_server_ended_is_made_anew(other):
    ended = pid_of(other)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [ended])
        assert cursor.fetchone() == (True,)

    assert not other.is_usable()

    other.health_check_enabled = True
    other.health_check_done = False
    other.close_if_health_check_failed()
    assert pid_of(other) != ended


def test_one_that_is_not_open_is_of_no_use(other):
    other.close()

    assert not other.is_usable()
