"""A benchmark works in a database of its own and leaves nothing behind."""

from __future__ import annotations

import os
import subprocess

import pytest
from django.db import connection

from benchmarks.product import own_database

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _database_url(monkeypatch):
    """The address of the test's own database, as a program of the service has it."""
    url = os.environ["DATABASE_URL"].rsplit("/", 1)[0]
    monkeypatch.setenv("DATABASE_URL", f"{url}/{connection.settings_dict['NAME']}")


@pytest.fixture
def commands(monkeypatch):
    """Take the place of the programs, which would migrate for ten seconds."""
    seen = []
    monkeypatch.setattr(
        own_database, "run", lambda command, environment: seen.append(command)
    )
    return seen


def names():
    with connection.cursor() as cursor:
        cursor.execute("SELECT datname FROM pg_database")
        found = [name for (name,) in cursor.fetchall()]
    return [name for name in found if name.startswith("benchmark_")]


def test_it_is_migrated_and_dropped_at_the_end(commands):
    with own_database.create(keep=False) as own:
        assert own.name in names()
        assert f"/{own.name}" in own.environment["DATABASE_URL"]
        assert own.environment["REDIS_URL"] != os.environ.get("REDIS_URL")
        assert commands == [["migrate", "--verbosity", "0"]]

    assert own.name not in names()


def test_an_error_drops_it_too(commands):
    with pytest.raises(KeyboardInterrupt), own_database.create(keep=False) as own:
        raise KeyboardInterrupt

    assert own.name not in names()


def test_what_a_killed_run_left_is_dropped_by_the_next(commands):
    left = f"{own_database.PREFIX}left"
    kept = f"{own_database.KEPT}kept"
    with connection.cursor() as cursor:
        for name in (left, kept):
            cursor.execute(f'CREATE DATABASE "{name}"')

    with own_database.create(keep=False) as own:
        assert {own.name, kept} <= set(names())
        assert left not in names()

    own_database._drop(kept)


def test_keep_keeps_it(commands):
    with own_database.create(keep=True) as own:
        pass

    assert own.name in names()
    own_database._drop(own.name)


def test_a_failure_of_the_program_is_raised(tmp_path):
    (tmp_path / "manage.py").write_text("raise SystemExit(3)")

    with pytest.raises(subprocess.CalledProcessError) as error:
        own_database.run(["benchmark"], os.environ, tmp_path)

    assert error.value.returncode == 3


@pytest.mark.parametrize(
    ("url", "own"),
    [
        ("redis://:pw@127.0.0.1:1/0", "redis://:pw@127.0.0.1:1/15"),
        ("unix:///run/redis.sock?db=0", "unix:///run/redis.sock?db=15"),
    ],
)
def test_it_uses_the_last_database_of_redis(url, own):
    """Nobody listens at these addresses, and so the usual number of databases counts."""
    assert own_database._last_redis_database(url) == own
