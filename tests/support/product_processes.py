"""Start processes of the product. They run beside the process that measures them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import urlsplit

from django.conf import settings
from django.db import connection

STOP_SECONDS = 30.0


@contextmanager
def run_worker() -> Iterator[None]:
    """Run a worker and beat until the block ends, as `manage.py up` runs them."""
    processes = [
        start_program([*CELERY, "worker", *CONCURRENCY, *WITHOUT_PEERS]),
        start_program([*CELERY, "beat", "--pidfile", "", *IN_MEMORY_SCHEDULER]),
    ]
    try:
        yield
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(STOP_SECONDS)


CELERY = ["-m", "celery", "--quiet", "-A", "memory_project.celery:app"]
CONCURRENCY = ["--concurrency", os.environ.get("WORKERS", "2")]
# The default scheduler keeps its state in a file, and removes a file that it cannot
# read.
IN_MEMORY_SCHEDULER = ["--scheduler", "celery.beat:Scheduler"]
WITHOUT_PEERS = ["--without-gossip", "--without-mingle", "--without-heartbeat"]


def start_program(command: Sequence[str], **more: str) -> subprocess.Popen[bytes]:
    """Start a Python program of the service.

    The program uses the database and the model of this process.
    """
    return subprocess.Popen(
        [sys.executable, *command],
        cwd=settings.BASE_DIR,
        env=program_environment() | more,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def program_environment() -> dict[str, str]:
    url = urlsplit(os.environ["DATABASE_URL"])
    database = url._replace(path=f"/{connection.settings_dict['NAME']}")
    return os.environ | {
        "DATABASE_URL": database.geturl(),
        "EMBEDDING_PROVIDER": settings.EMBEDDING_PROVIDER,
    }
