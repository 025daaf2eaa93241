"""The servers of a test run, loaded by `-p tests.servers` in pyproject.toml.

pytest-django reads the settings before any conftest.py, so this runs when imported. The
first process starts one PostgreSQL and one Redis for all; xdist's workers inherit their
addresses and have a test database and a Redis database each.
"""

from __future__ import annotations

import atexit
import os
import re
import secrets
import shutil
import tempfile
from pathlib import Path

from embedded import data_folder, servers


def scratch_folder() -> Path:
    """A short path that an unprivileged server can enter; the supervisor removes it."""
    parent = Path(tempfile.gettempdir())
    if os.geteuid() == 0:
        parent = data_folder.SYSTEM_FOLDER
    return parent / f"test-{secrets.token_hex(4)}"


def start() -> None:
    os.environ.setdefault("SECRET_KEY", "for tests only")
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker:
        number = int(worker.removeprefix("gw")) + 1
        os.environ["REDIS_URL"] = numbered(os.environ["REDIS_URL"], number)
        return
    # A service of the tests is none that a person's commands shall find.
    os.environ.setdefault("SERVICE_NOTES", tempfile.mkdtemp(prefix="notes-"))
    atexit.register(shutil.rmtree, os.environ["SERVICE_NOTES"], ignore_errors=True)
    if servers.is_set("DATABASE_URL") and servers.is_set("REDIS_URL"):
        return
    data = servers.use(scratch_folder(), for_tests=True).data
    os.environ["DATA_DIR"] = str(data.path)
    os.environ["DATABASE_URL"] = data.database_url
    os.environ["REDIS_URL"] = data.redis_url


def numbered(redis_url: str, number: int) -> str:
    if redis_url.startswith("unix:"):
        return re.sub(r"db=\d+", f"db={number}", redis_url)
    return re.sub(r"/\d*$", "", redis_url) + f"/{number}"


start()
