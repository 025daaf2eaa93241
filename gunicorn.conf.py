"""The web server's settings; `WEB_*` in the environment change them."""

from __future__ import annotations

import gc
import logging
import os
import shutil
import threading
from pathlib import Path
from typing import Any

from embedded import metrics_folder
from memory_project.settings import LOGGING

wsgi_app = "memory_project.wsgi:application"
bind = os.environ.get("WEB_BIND", "127.0.0.1:8000")
worker_class = "gthread"
workers = int(os.environ.get("WEB_PROCESSES", "2"))
threads = int(os.environ.get("WEB_THREADS", "8"))
# One import for all processes: half the start-up and shared memory.
preload_app = True
timeout = 120
graceful_timeout = 10
keepalive = 30  # seconds; agents call again and again
worker_tmp_dir = "/dev/shm" if Path("/dev/shm").is_dir() else None
# The socket would lie in the home folder of whoever starts it.
control_socket_disable = True
# One JSON object a line, as every other log of the service.
logconfig_dict: dict[str, Any] = {**LOGGING}
logconfig_dict["loggers"] = {
    **logconfig_dict["loggers"],
    "gunicorn.error": {"level": "INFO", "handlers": [], "propagate": True},
}
# Where the processes count for /metrics. Who gives another one empties it at a start.
given = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
counted = Path(given) if given else metrics_folder.create()
counted.mkdir(parents=True, exist_ok=True)
os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(counted)


def when_ready(server: Any) -> None:
    """Load every view before the processes part; the first request would wait else.

    What is loaded by now stays: it is taken out of the garbage collector's sight, whose
    full walk over it took 0.1 s of every request that makes some thousand objects.
    """
    from django.urls import get_resolver

    get_resolver().url_patterns  # noqa: B018  # loads when read
    gc.collect()
    gc.freeze()
    # A request makes some thousand objects, and hardly a cycle: half a millisecond less.
    gc.set_threshold(10_000, 20, 20)


def post_worker_init(worker: Any) -> None:
    """Load the embedding model while the first requests come in; it takes a second."""
    threading.Thread(target=_warm, daemon=True).start()


def _warm() -> None:
    from django.db import Error, connection

    from inference.embedding import active_model
    from inference.errors import InferenceError

    try:
        active_model.embed_query("warm")
    except (InferenceError, Error) as error:
        logging.getLogger("inference").warning("the model does not answer: %s", error)
    finally:
        connection.close()  # the database said which model; this thread ends


def child_exit(server: Any, worker: Any) -> None:
    """Fold a dead process's gauges away, or /metrics counts it for ever."""
    from prometheus_client import multiprocess

    multiprocess.mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]  # as shipped


def on_exit(server: Any) -> None:
    if not given:
        shutil.rmtree(counted, ignore_errors=True)
