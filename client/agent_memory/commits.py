"""Send a repository's new commits: subject, body, date and names of files, and nothing else.

Standard library only: a hook sends them in the background.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from agent_memory import exchange, file_lock
from agent_memory.connections import Connection, write_private
from agent_memory.repository import Repository, find_repository

STATE_FILE = "commits.json"
FIRST = 300  # newest commits that the first session sends; `am backfill --commits` sends all
MOST = 20_000
BATCH = 200  # the server takes 500 at once
MAX_FILES, MAX_SUBJECT, MAX_BODY = 500, 1_000, 20_000
GIT_SECONDS = 30
TIMEOUT = 60.0
# A commit begins with \x01; its head ends with \x02, and names of files follow.
FORMAT = "--format=%x01%H%x1f%aI%x1f%s%x1f%b%x02"


def send_new(connection: Connection, folder: Path, *, is_whole: bool = False) -> int:
    """Send the commits of the branch that were not sent yet; return how many were new.

    Raises `exchange.ExchangeError` if the server refuses or does not answer.
    """
    repository = find_repository(folder)
    if repository is None:
        return 0
    state = connection.state_folder / STATE_FILE
    state.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with file_lock.hold(state.with_suffix(".lock")):
        last = "" if is_whole else _read_last(state)
        commits = list(_read_commits(connection, repository, last, is_whole=is_whole))
        stored = 0
        for start in range(0, len(commits), BATCH):
            batch = commits[start : start + BATCH]
            stored += _send(connection, batch)
            write_private(state, json.dumps({"last": batch[-1]["id"]}))
    return stored


def _send(connection: Connection, commits: list[dict[str, Any]]) -> int:
    body = {"project_id": connection.project_id, "commits": commits}
    answer = exchange.send(
        connection,
        "POST",
        "/api/v1/commits",
        body=json.dumps(body).encode(),
        timeout=TIMEOUT,
    )
    return int(exchange.require_success(answer).data["stored"])


def _read_last(state: Path) -> str:
    try:
        return str(json.loads(state.read_text("utf-8"))["last"])
    except (FileNotFoundError, ValueError, KeyError):
        return ""


def _read_commits(
    connection: Connection, repository: Repository, last: str, *, is_whole: bool
) -> Iterator[dict[str, Any]]:
    """Yield the commits after `last`, the oldest first; the newest if `last` is not known."""
    most = MOST if is_whole or last else FIRST
    command = ["log", "-z", "--no-merges", "--name-only", FORMAT, f"--max-count={most}"]
    text = _run_git(
        repository.root, [*command, f"{last}..HEAD" if last else "HEAD"], connection
    )
    if text is None and last:  # a rebase has removed it
        text = _run_git(
            repository.root, [*command, f"--max-count={FIRST}", "HEAD"], connection
        )
    for record in reversed((text or "").split("\x01")[1:]):
        head, _, names = record.partition("\x02")
        commit, date, subject, body = head.split("\x1f", 3)
        if not subject.strip():
            continue
        files = filter(None, (name.strip("\n") for name in names.split("\0")))
        yield {
            "id": commit,
            "date": date,
            "subject": subject[:MAX_SUBJECT],
            "body": body.strip()[:MAX_BODY],
            "files": list(islice(files, MAX_FILES)),
        }


def _run_git(root: Path, arguments: list[str], connection: Connection) -> str | None:
    """Return what git prints of the connected folder; None if it fails."""
    command = ["git", "-C", str(root / connection.path), *arguments, "--", "."]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return os.fsdecode(done.stdout) if done.returncode == 0 else None
