"""`am doctor`: try everything between an agent and the service, and say how to mend it."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Literal

import httpx

from agent_memory import (
    connect,
    connections,
    exchange,
    hook,
    hook_log,
    keys,
    settings_edit,
    version,
)
from agent_memory.client import Client
from agent_memory.connections import Connection, NotPossible
from agent_memory.errors import AgentMemoryError
from agent_memory.harnesses import BY_NAME, CodingAgent
from agent_memory.own_command import spell
from agent_memory.places import this_machine

PROBE_SECONDS = 5.0
ROUND_TRIP_SECONDS = 10.0
MAX_CLOCK_SECONDS = 60.0  # more, and the times of what an agent stores mislead
RECENT_SECONDS = 24 * 3600.0
SESSION_LOSS = "the session was not sent"
COMMITS_LOSS = "the next start sends those commits"
# What an agent or the service goes without if the hook of an event fails.
LOSSES = {
    "session-start": "that session started without what the project knows",
    "subagent-start": "that subagent started without what the project knows",
    "prompt": "that prompt was answered without what the project knows of it",
    "tool-failed": "a known fix of that failed call was not given",
    **dict.fromkeys(hook.BACKGROUND, SESSION_LOSS),
    hook.COMMITS: COMMITS_LOSS,
}
READY = "readyz"
# Of /readyz, by the name of the check: how to mend it.
MENDS = {
    "database": "Look at the log of the service; `bin/up` starts its own PostgreSQL.",
    "migrations": "Run `manage.py migrate`, or start the service again with `bin/up`.",
    "broker": "Start Redis, or start the service again with `bin/up`.",
    "worker": "Start a worker, or start the service again with `bin/up`.",
    "oldest_job": "Add workers (WORKERS), or look at the page *Jobs* of the admin.",
}

Status = Literal["ok", "warning", "fault"]


@dataclass(frozen=True)
class DoctorLine:
    """A line of the doctor; `can_fix` says that `--fix` mends it."""

    name: str
    status: Status
    detail: str
    mend: str = ""
    can_fix: bool = False

    @property
    def data(self) -> dict[str, Any]:
        return asdict(self)


def examine(folder: Path) -> Iterator[DoctorLine]:
    """Yield the findings, from the connection over the server to each harness."""
    try:
        entry = connections.find(folder, connections.read())
    except NotPossible as error:
        mend = f"Delete {connections.file_of()} and run {spell('connect')}."
        yield DoctorLine("connection", "fault", str(error), mend)
        return
    if entry is None:
        yield DoctorLine(
            "connection",
            "fault",
            f"{folder.resolve()} is not connected.",
            f"Run {spell('connect')} here.",
        )
        return
    yield DoctorLine(
        "connection", "ok", f"{entry.project} at {entry.server} as {entry.agent_id}"
    )
    yield check_file()
    folder = connect.folder_of(entry, folder)
    is_there = False
    for finding in check_server(entry):
        is_there = is_there or (finding.name, finding.status) == ("server", "ok")
        yield finding
    if is_there:
        yield from check_key(entry)
    for name in entry.harnesses:
        yield from check_harness(BY_NAME[name], entry, folder, is_there=is_there)
    if is_there:
        yield from check_events(entry)
    yield check_log()


def check_file() -> DoctorLine:
    file = connections.file_of()
    mode = file.stat().st_mode & 0o777
    if this_machine().is_windows or mode == connections.MODE:
        return DoctorLine("key file", "ok", f"{file}, for you only")
    return DoctorLine(
        "key file",
        "fault",
        f"{file} has mode {mode:o}: others may read the key.",
        f"Run `chmod 600 {file}`.",
        can_fix=True,
    )


def check_server(entry: Connection) -> Iterator[DoctorLine]:
    """Yield whether the server answers, the clock, the versions, and what /readyz says."""
    headers = {version.HEADER: version.VERSION}
    try:
        answer = httpx.get(
            f"{entry.server}/{READY}", headers=headers, timeout=PROBE_SECONDS
        )
    except httpx.HTTPError as error:
        yield DoctorLine(
            "server",
            "fault",
            f"{entry.server} does not answer: {error}",
            "Start it with `bin/up`; if its address is another one, run "
            f"{spell('connect --server URL')}.",
        )
        return
    yield DoctorLine(
        "server", "ok", f"answers in {answer.elapsed.total_seconds() * 1000:.0f} ms"
    )
    yield _check_clock(answer)
    gap = version.describe_gap(answer.headers.get(version.HEADER, ""))
    yield DoctorLine(
        "versions",
        "warning" if gap else "ok",
        gap or f"both fit: {version.VERSION}",
        gap,
    )
    try:
        checks = answer.json()
    except ValueError:
        yield DoctorLine(
            "service",
            "fault",
            f"/{READY} answers no JSON.",
            "Check that the address is that of the service.",
        )
        return
    for name, check in _checks_of(checks).items():
        yield DoctorLine(
            name.replace("_", " "),
            "ok" if check.get("ok") else "fault",
            str(check.get("detail", "")),
            ""
            if check.get("ok")
            else MENDS.get(name, "Look at the log of the service."),
        )


def _checks_of(answer: Any) -> dict[str, dict[str, Any]]:
    checks = answer.get("checks", answer) if isinstance(answer, dict) else {}
    return {name: check for name, check in checks.items() if isinstance(check, dict)}


def _check_clock(answer: httpx.Response) -> DoctorLine:
    """Compare the clocks; the server's is exact to a second."""
    if "Date" not in answer.headers:
        return DoctorLine("clock", "ok", "the server names no time")
    there = parsedate_to_datetime(answer.headers["Date"])
    apart = abs((datetime.now(UTC) - there).total_seconds())
    if apart <= MAX_CLOCK_SECONDS:
        return DoctorLine("clock", "ok", "the same here and there")
    return DoctorLine(
        "clock",
        "warning",
        f"{apart:.0f} s apart from the server's.",
        "Let both machines set their clocks by NTP.",
    )


def check_key(entry: Connection) -> Iterator[DoctorLine]:
    mend = f"Run {spell('connect')} again; it makes a new key."
    try:
        with Client(entry.server, entry.key, attempts=1) as client:
            project = client.projects_read(entry.project_id)
    except AgentMemoryError as error:
        yield DoctorLine("key", "fault", error.detail, mend)
        return
    kind = "reads" if entry.is_read_only else "reads and writes"
    yield DoctorLine("key", "ok", f"{kind} the project {project['name']}")


def check_harness(
    harness: CodingAgent, entry: Connection, folder: Path, *, is_there: bool
) -> Iterator[DoctorLine]:
    """Yield whether the settings are ours, and whether its own hook makes a round trip."""
    target = settings_edit.Target(
        this_machine(),
        connect.root_of(folder),
        entry.repository,
        connect.this_program(),
    )
    mend = f"Run {spell(f'connect --harness {harness.name}')}."
    try:
        edits = settings_edit.plan(harness, target, connections.read())
    except NotPossible as error:
        yield DoctorLine(harness.name, "fault", str(error), mend)
        return
    changed = [str(edit.path) for edit in edits if edit.changes_something]
    if changed:
        yield DoctorLine(
            harness.name,
            "fault",
            f"its settings are not as connected: {', '.join(changed)}",
            mend,
            can_fix=True,
        )
        return
    yield DoctorLine(harness.name, "ok", f"settings of {harness.title} are in place")
    if is_there:
        yield try_hook(harness, target, folder)
        yield try_mcp(harness, target, folder)


def try_hook(
    harness: CodingAgent, target: settings_edit.Target, folder: Path
) -> DoctorLine:
    """Run the command that the harness's settings have, for what is no event of a session."""
    name = f"{harness.name} hook"
    payload = {"cwd": str(folder.resolve())}
    command = target.program.hook_words(hook.CHECK, harness.name)
    began = time.monotonic()
    try:
        done = subprocess.run(
            command,
            input=json.dumps(payload),
            capture_output=True,
            text=True,
            timeout=ROUND_TRIP_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return DoctorLine(
            name,
            "fault",
            f"it does not run: {error}",
            f"Run {spell(f'connect --harness {harness.name}')}.",
            can_fix=True,
        )
    seconds = time.monotonic() - began
    if done.returncode or done.stdout.strip() != hook.NOTHING:
        said = done.stdout.strip() or done.stderr.strip()
        words = said or "its program is gone or cannot be imported"
        return DoctorLine(
            name,
            "fault",
            words,
            f"The lines above say what to mend; then run {spell('doctor')} again.",
        )
    return DoctorLine(
        name, "ok", f"went to the server and back in {seconds * 1000:.0f} ms"
    )


def try_mcp(
    harness: CodingAgent, target: settings_edit.Target, folder: Path
) -> DoctorLine:
    """Start the MCP server as the harness does, and ask it who it is."""
    name = f"{harness.name} mcp"
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "am-doctor", "version": version.VERSION},
        },
    }
    command = [*target.program.words, "mcp"]
    try:
        done = subprocess.run(
            command,
            input=json.dumps(hello) + "\n",
            capture_output=True,
            text=True,
            timeout=ROUND_TRIP_SECONDS,
            check=False,
            cwd=folder,
        )
        answer = json.loads(done.stdout.splitlines()[0])
    except (OSError, subprocess.TimeoutExpired, ValueError, IndexError) as error:
        return DoctorLine(
            name,
            "fault",
            f"it does not run: {error}",
            f"Run {spell(f'connect --harness {harness.name}')}.",
            can_fix=True,
        )
    if "error" in answer:
        return DoctorLine(
            name,
            "fault",
            answer["error"]["message"],
            "Update the service: it has no MCP tools, or refuses the key.",
        )
    server = answer.get("result", {}).get("serverInfo", {})
    return DoctorLine(name, "ok", f"{server.get('name', 'the server')} answers")


def check_events(entry: Connection) -> Iterator[DoctorLine]:
    """Yield when the last event of each harness came to the server."""
    try:
        answer = exchange.require_success(
            exchange.send(
                entry,
                "GET",
                "/hooks/status",
                query={"project_id": entry.project_id},
                timeout=PROBE_SECONDS,
            )
        )
    except exchange.ExchangeError as error:
        yield DoctorLine(
            "events",
            "warning",
            str(error),
            "Update the service: it does not say which events came.",
        )
        return
    rows = answer.data if isinstance(answer.data, list) else []
    newest = {
        row["harness"]: row
        for row in rows
        if row.get("agent_id") in ("", entry.agent_id)
    }
    for name in entry.harnesses:
        row = newest.get(name)
        if row is None:
            note = BY_NAME[name].note
            mend = f"Start a session of {BY_NAME[name].title} in this folder. {note}".strip()
            yield DoctorLine(f"{name} events", "warning", "none has come yet", mend)
        else:
            yield DoctorLine(
                f"{name} events",
                "ok",
                f"{row['last_event']} at {row['last_at']}, {sum(row['events'].values())} in all",
            )


def check_log() -> DoctorLine:
    """Say how many hooks failed within a day, and of each kind of loss the last one."""
    since = time.strftime(
        "%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - RECENT_SECONDS)
    )
    rows = [row for row in hook_log.read_newest(1000) if row["at"] >= since]
    if not rows:
        return DoctorLine("hook log", "ok", "no hook has failed for a day")
    newest = {LOSSES.get(row["event"], row["event"]): row for row in rows}
    losses = "; ".join(_describe_loss(row) for row in newest.values())
    hooks = "1 hook" if len(rows) == 1 else f"{len(rows)} hooks"
    mend = f"If the lines above are well, it has passed. The log is {hook_log.file()}."
    if any(_is_sent_later(row) for row in rows):
        mend = f"{spell('backfill')} sends the sessions that were not sent. {mend}"
    if newest.keys() - {SESSION_LOSS, COMMITS_LOSS}:
        mend = f"{spell('context TASK')} prints what was not given. {mend}"
    return DoctorLine(
        "hook log", "warning", f"{hooks} failed within a day: {losses}", mend
    )


def _describe_loss(row: dict[str, Any]) -> str:
    """Say when a hook failed, why, and what was lost; the time is that of this machine."""
    at = datetime.fromisoformat(row["at"]).astimezone()
    error, event = row["error"], row["event"]
    reason = f"got {error}" if error.startswith("no answer") else f"failed ({error})"
    hook_words = f"at {at:%H:%M} {event} of {row['harness']} {reason}"
    loss = LOSSES.get(event)
    return f"{hook_words}: {loss}" if loss else hook_words


def _is_sent_later(row: dict[str, Any]) -> bool:
    harness = BY_NAME.get(row["harness"])
    return row["event"] in hook.BACKGROUND and bool(harness and harness.transcripts)


def fix(folder: Path) -> list[str]:
    """Mend what is safe: the mode of the key's file, and settings that are not as connected."""
    try:
        known = connections.read()
    except NotPossible:  # `examine` says it
        return []
    entry = connections.find(folder, known)
    if entry is None:
        return []
    mended = []
    file = connections.file_of()
    if (
        not this_machine().is_windows
        and file.stat().st_mode & 0o777 != connections.MODE
    ):
        file.chmod(connections.MODE)
        mended.append(f"{file} is for you only")
    wish = connect.ConnectionWish(
        connect.folder_of(entry, folder),
        entry.server,
        entry.project,
        tuple(BY_NAME[name] for name in entry.harnesses),
        entry.agent_id,
        entry.is_read_only,
    )
    plan = connect.plan(wish, known)
    changed = [str(edit.path) for edit in plan.edits if edit.changes_something]
    if changed:
        key = keys.ConnectionKey(
            entry.key, entry.key_id, entry.project, entry.project_id
        )
        connect.apply(plan, key)
        mended += [f"{path} is as connected" for path in changed]
    return mended
