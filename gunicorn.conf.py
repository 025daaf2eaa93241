"""Settings of the web server; `WEB_*` in the environment override some."""

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

wsgi_app = "memory_project.asgi:application"
bind = os.environ.get("WEB_BIND", "127.0.0.1:8000")
worker_class = "memory_project.web_worker.WebWorker"
workers = int(os.environ.get("WEB_PROCESSES", "2"))
# One import for all processes halves the start-up time and shares memory.
preload_app = True
timeout = 120
graceful_timeout = 10
keepalive = 30  # seconds; an agent calls again soon
worker_tmp_dir = "/dev/shm" if Path("/dev/shm").is_dir() else None
# Its socket would be in the home folder of the user who starts the server.
control_socket_disable = True
# One JSON object a line, like every other log of the service.
logconfig_dict: dict[str, Any] = {**LOGGING}
logconfig_dict["loggers"] = {
    **logconfig_dict["loggers"],
    "gunicorn.error": {"level": "INFO", "handlers": [], "propagate": True},
}
# The folder of the counters of /metrics. Whoever sets it empties it before a start.
configured = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
counters = Path(configured) if configured else metrics_folder.create()
counters.mkdir(parents=True, exist_ok=True)
os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(counters)


def on_starting(server: Any) -> None:
    """Refuse what cannot work, after the application is loaded and before it is served."""
    from memory_project import startup

    startup.refuse_unservable()


def when_ready(server: Any) -> None:
    """Load every view before the fork, so that the first request need not wait for it.

    What is loaded by then stays, so the garbage collector ignores it: its full walk
    took 0.1 s of every request that creates some thousand objects.
    """
    from django.urls import get_resolver

    get_resolver().url_patterns  # noqa: B018  # loads when read
    gc.collect()
    gc.freeze()
    # A request creates some thousand objects and hardly a cycle: this saves 0.5 ms.
    gc.set_threshold(10_000, 20, 20)


def post_worker_init(worker: Any) -> None:
    """Load the embedding model, which takes a second, beside the first requests."""
    threading.Thread(target=_load_model, daemon=True).start()


def _load_model() -> None:
    from django.db import Error, connection

    from inference.embedding import active_model
    from inference.errors import InferenceError

    try:
        active_model.embed_query("warm")
    except (InferenceError, Error) as error:
        logging.getLogger("inference").warning("the model does not answer: %s", error)
    finally:
        connection.close()  # it served to look up the active model; the thread ends


def child_exit(server: Any, worker: Any) -> None:
    """Remove a dead process's gauges, which /metrics would add up for ever."""
    from prometheus_client import multiprocess

    multiprocess.mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]  # as shipped


def on_exit(server: Any) -> None:
    if not configured:
        shutil.rmtree(counters, ignore_errors=True)
