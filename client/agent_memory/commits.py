"""Send a repository's new commits: subject, body, date and names of files, and nothing else.

Standard library only: a hook sends them in the background.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from datetime import datetime
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

from agent_memory import exchange, file_lock
from agent_memory.connections import Connection, write_private
from agent_memory.errors import AgentMemoryError
from agent_memory.repository import find_repository

STATE_FILE = "commits.json"
FIRST = 300  # newest commits that the first session sends; `am backfill --commits` sends all
MOST = 20_000
BATCH = 200  # the server takes 500 at once
MAX_FILES, MAX_SUBJECT, MAX_BODY = 500, 1_000, 20_000
MAX_PATH = 1_000  # bytes
MAX_HEADS = 20  # branches that a person goes back to
GIT_SECONDS = 30
MAX_WORDS = 500  # characters of what git prints that an error repeats
TIMEOUT = 60.0
# NUL stands before a commit and between its fields: git has none in messages and names.
FORMAT = "--format=%x00%H%x00%aI%x00%s%x00%b"
_HASH = re.compile(r"[0-9a-f]{40,64}")


class GitFailed(AgentMemoryError):
    """git could not read the commits; the message is what it printed."""

    code = "git_failed"


def send_new(connection: Connection, folder: Path, *, is_whole: bool = False) -> int:
    """Send the commits of the branch that were not sent yet; return how many were new.

    Raises `exchange.ExchangeError` if the server refuses or does not answer, and `GitFailed`.
    """
    repository = find_repository(folder)
    if repository is None:
        return 0
    root = repository.root / connection.path
    head = _read_head(root)
    if not head:
        return 0
    state = connection.state_folder / STATE_FILE
    state.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with file_lock.hold(state.with_suffix(".lock")):
        sent = _read_sent(state)
        known = [] if is_whole else _find_known(root, sent)
        most = MOST if is_whole or known else FIRST
        commits = list(_read_commits(root, head, known, most=most))
        stored = 0
        for start in range(0, len(commits), BATCH):
            stored += _send(connection, commits[start : start + BATCH])
        heads = list(dict.fromkeys([head, *sent]))[:MAX_HEADS]
        write_private(state, json.dumps({"heads": heads}))
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


def _read_sent(state: Path) -> list[str]:
    """Return the heads whose commits were sent, the newest first; none if it is no such file."""
    try:
        data = json.loads(state.read_bytes())
    except (FileNotFoundError, ValueError, RecursionError):
        return []
    heads = data.get("heads") if isinstance(data, dict) else None
    found = heads if isinstance(heads, list) else []
    return [each for each in found if isinstance(each, str) and _HASH.fullmatch(each)]


def _read_head(root: Path) -> str:
    """Return the commit that is checked out; empty if the branch has none yet."""
    done = _start_git(root, ["rev-parse", "--verify", "--quiet", "HEAD"])
    if done.returncode == 1:
        # It fails if a branch is broken: only one without a commit is nothing to send.
        _run_git(root, ["rev-list", "--all", "--max-count=1"])
        return ""
    return _require_success(done).strip()


def _find_known(root: Path, heads: list[str]) -> list[str]:
    """Return the heads that git still has: a rebase removes some in time."""
    if not heads:
        return []
    command = ["cat-file", "--batch-check=%(objecttype) %(objectname)"]
    lines = _run_git(root, command, "\n".join(heads)).splitlines()
    return [line.split()[1] for line in lines if line.startswith("commit ")]


def _read_commits(
    root: Path, head: str, known: list[str], *, most: int
) -> Iterator[dict[str, Any]]:
    """Yield the newest commits that no known head has, the oldest first."""
    command = ["log", "-z", "--no-merges", "--name-only", "--no-show-signature"]
    command += ["--encoding=UTF-8", FORMAT, f"--max-count={most}", head, "--not"]
    text = _run_git(root, [*command, *known, "--", "."])
    fields = iter(text.split("\0")[1:])
    records = []
    while commit := list(islice(fields, 4)):
        # An empty name ends the names of a commit.
        names = [name.removeprefix("\n") for name in takewhile(bool, fields)]
        records.append((commit, names))
    for (commit_id, date, subject, body), names in reversed(records):
        if subject.strip() and _is_date(date):
            files = filter(_is_path, names)
            yield {
                "id": commit_id,
                "date": date,
                "subject": subject[:MAX_SUBJECT],
                "body": body.strip()[:MAX_BODY],
                "files": list(islice(files, MAX_FILES)),
            }


def _is_path(name: str) -> bool:
    return bool(name.strip()) and len(name.encode()) <= MAX_PATH


def _is_date(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _run_git(root: Path, arguments: list[str], given: str = "") -> str:
    return _require_success(_start_git(root, arguments, given))


def _require_success(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode:
        words = done.stderr.strip()[:MAX_WORDS] or f"it ended with {done.returncode}"
        raise GitFailed(f"git cannot read the commits: {words}")
    return done.stdout


def _start_git(
    root: Path, arguments: list[str], given: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run git in the connected folder, without the network, locks and translations."""
    quiet = {"GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        return subprocess.run(
            ["git", "-C", str(root), *arguments],
            input=given,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=GIT_SECONDS,
            check=False,
            env={**os.environ, **quiet},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitFailed(f"git cannot be run: {error}") from error
