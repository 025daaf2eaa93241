"""The log of the hooks: one JSON line for each failure, which `am doctor` reads."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from agent_memory.places import this_machine

FILE = "hook.log"
MAX_BYTES = 512 * 1024  # then the older half goes


def file() -> Path:
    return Path(this_machine().data, FILE)


def add(harness: str, event: str, error: str) -> None:
    """Add a failure; the words of the user or of the agent are never in it."""
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    row = {"at": at, "harness": harness, "event": event, "error": error}
    log = file()
    log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if log.exists() and log.stat().st_size > MAX_BYTES:
        lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
        log.write_text("".join(lines[len(lines) // 2 :]), encoding="utf-8")
    with log.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(row) + "\n")


def read_newest(limit: int) -> list[dict[str, Any]]:
    try:
        lines = file().read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    rows = []
    for line in lines[-limit:]:
        try:
            rows.append(json.loads(line))
        except ValueError:  # a line that another process was still writing
            continue
    return rows
