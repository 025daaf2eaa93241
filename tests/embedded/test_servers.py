from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from pathlib import Path

import psycopg
import pytest
import redis

from embedded import data_folder, postgres, servers, supervisor
from embedded.data_folder import DataFolder, EmbeddedError
from embedded.servers import ServerUse
from tests.servers import scratch_folder

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root changes users")


@pytest.fixture(scope="module")
def used_folder():
    """One data folder for the tests that need no new one: making it takes a second."""
    path = scratch_folder()
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def new_folder():
    path = scratch_folder()
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def start(used_folder, new_folder):
    """Begin a use of a folder's servers; every use ends with the test."""
    uses: list[ServerUse] = []

    def begin(folder: Path = used_folder) -> ServerUse:
        use = ServerUse(data_folder.create(folder))
        use.begin()
        uses.append(use)
        return use

    yield begin
    for use in uses:
        use.end()


def connect(use: ServerUse) -> psycopg.Connection:
    return psycopg.connect(use.data.database_url, autocommit=True)


def eventually(condition, *, seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while not (held := condition()) and time.monotonic() < deadline:
        threading.Event().wait(0.05)
    return held


def answers(use: ServerUse) -> bool:
    try:
        connect(use).close()
        return bool(redis.Redis.from_url(use.data.redis_url).ping())
    except (psycopg.OperationalError, redis.RedisError):
        return False


def postmaster(data: DataFolder) -> int:
    return number_in(data.postgres / "postmaster.pid")


def number_in(path: Path) -> int:
    """The process number that a server wrote; 0 while it starts."""
    words = path.read_text().split() if path.exists() else []
    return int(words[0]) if words else 0


def supervisor_pid(data: DataFolder) -> int:
    return int(servers.supervisor_lock(data).read_text())


def modes(*paths: Path) -> dict[Path, int]:
    around = {parent for path in paths for parent in (path, *path.parents)}
    return {path: path.stat().st_mode for path in around if path.exists()}


class TestServers:
    def test_it_connects_as_an_owner_that_is_no_superuser(self, start):
        with connect(start()) as connection:
            row = connection.execute(
                "SELECT rolname, rolsuper FROM pg_roles WHERE rolname = current_user"
            ).fetchone()

        assert row == ("memory", False)

    def test_it_offers_vectors_in_databases_made_by_the_owner(self, start):
        use = start()
        with connect(use) as connection:
            connection.execute("DROP DATABASE IF EXISTS test_copy")
            connection.execute("CREATE DATABASE test_copy")

        with psycopg.connect(
            use.data.database_url.replace("/memory?", "/test_copy?")
        ) as copy:
            row = copy.execute("SELECT '[1,2]'::vector <-> '[1,2]'").fetchone()

        assert row == (0.0,)

    def test_it_runs_redis_without_a_port(self, start):
        client = redis.Redis.from_url(start().data.redis_url)

        assert client.config_get("port") == {"port": "0"}

    def test_it_changes_no_permissions_outside_its_folder(self, start, new_folder):
        wheel = postgres.wheel_folder()
        programs = [path for path in wheel.rglob("*") if not path.is_symlink()]
        before = modes(new_folder, wheel, *programs)

        start(new_folder).end()

        assert {path: path.stat().st_mode for path in before} == before

    @AS_ROOT
    def test_it_keeps_the_data_from_everybody_else(self, start):
        data = start().data

        private = [data.postgres, data.redis, data.sockets, data.logs, data.backups]
        assert {path.stat().st_mode & 0o777 for path in private} == {0o700}

    def test_it_keeps_data_from_one_use_to_the_next(self, start):
        first = start()
        with connect(first) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS kept AS SELECT 1 AS one")
        first.end()

        with connect(start()) as connection:
            assert connection.execute("SELECT one FROM kept").fetchone() == (1,)


class TestSharing:
    def test_the_servers_stay_while_one_command_uses_them(self, start):
        first, second = start(), start()

        first.end()

        assert answers(second)

    def test_nothing_is_left_running_after_the_last_command(self, start):
        use = start()
        pids = [supervisor_pid(use.data), postmaster(use.data)]

        use.end()

        assert [supervisor.command_line(pid) for pid in pids] == ["", ""]

    def test_they_end_when_the_only_command_is_killed(self, start):
        use = start()
        pids = [supervisor_pid(use.data), postmaster(use.data)]

        # What the kernel does with a killed command's lock.
        use.users.release()
        use.process = None

        assert eventually(lambda: not any(map(supervisor.command_line, pids)))


class TestRecovery:
    def test_a_killed_postgresql_starts_again(self, start):
        use = start()
        old = postmaster(use.data)

        os.kill(old, signal.SIGKILL)

        assert eventually(lambda: postmaster(use.data) != old and answers(use))

    def test_a_killed_redis_starts_again(self, start):
        use = start()
        old = (use.data.redis / "redis.pid").read_text()

        os.kill(int(old), signal.SIGKILL)

        assert eventually(
            lambda: (use.data.redis / "redis.pid").read_text() != old and answers(use)
        )

    def test_a_killed_supervisor_is_replaced(self, start):
        use = start()

        os.kill(supervisor_pid(use.data), signal.SIGKILL)

        assert eventually(use.ensure_supervisor)
        assert answers(use)

    def test_a_half_made_data_folder_is_thrown_away(self, start, new_folder):
        data = data_folder.create(new_folder)
        (new_folder / "postgres-draft").mkdir()
        (new_folder / "postgres-draft" / "PG_VERSION").write_text("18")

        use = start(new_folder)

        assert answers(use)
        assert not (data.path / "postgres-draft").exists()

    def test_a_stale_process_number_harms_nobody(self, start):
        first = start()
        first.end()
        stale = first.data.postgres / "postmaster.pid"
        stale.write_text(f"{os.getpid()}\n{first.data.postgres}\n")

        assert answers(start())

    def test_data_of_another_version_is_refused(self, new_folder):
        data = data_folder.create(new_folder)
        data.postgres.mkdir()
        (data.postgres / "PG_VERSION").write_text("17\n")

        with pytest.raises(EmbeddedError, match="data of PostgreSQL 17"):
            ServerUse(data).begin()


class TestFolders:
    @AS_ROOT
    def test_a_folder_that_postgresql_cannot_enter_is_refused(self, tmp_path):
        tmp_path.chmod(0o700)

        with pytest.raises(EmbeddedError, match="cannot be entered"):
            ServerUse(data_folder.create(tmp_path / "data")).begin()

        assert tmp_path.stat().st_mode & 0o777 == 0o700

    def test_sockets_of_a_deep_folder_have_a_short_path(self):
        data = DataFolder(Path("/") / "deep" / ("x" * 120))

        path = data.sockets / data_folder.SOCKET_NAME

        assert len(str(path)) <= data_folder.SOCKET_LIMIT

    def test_the_option_wins_over_the_environment(self, monkeypatch):
        monkeypatch.setenv("DATA_DIR", "/from/environment")

        assert data_folder.locate("/from/option") == Path("/from/option")
        assert data_folder.locate() == Path("/from/environment")

    def test_each_checkout_has_a_folder_of_its_own(self, monkeypatch):
        monkeypatch.delenv("DATA_DIR")
        mine = data_folder.locate()

        monkeypatch.setattr(data_folder, "BASE_DIR", Path("/another/checkout"))

        assert data_folder.locate() != mine

    def test_the_secret_key_is_made_once_and_private(self, new_folder):
        path = data_folder.create(new_folder).path / "secret_key"

        first, second = (
            servers.read_or_make_secret_key(path),
            servers.read_or_make_secret_key(path),
        )

        assert first == second
        assert path.stat().st_mode & 0o777 == 0o600


class TestTuning:
    @pytest.mark.parametrize(
        ("memory", "shared_buffers"),
        [(256, "64MB"), (6 * 1024, "1024MB"), (1024 * 1024, "4096MB")],
    )
    def test_it_follows_the_memory_within_bounds(self, memory, shared_buffers):
        chosen = postgres.tuned_settings(memory * postgres.MIB)

        assert chosen["shared_buffers"] == shared_buffers
