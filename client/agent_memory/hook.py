"""`am hook EVENT --harness H`: pass a harness's event to the server, and its answer back.

It never blocks and never fails an agent: it exits with 0 within the event's limit, whatever
the server does, and writes what went wrong into the log that `am doctor` reads. Standard
library only, so that it starts fast.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

from agent_memory import connections, hook_log
from agent_memory.connections import Connection
from agent_memory.repository import find_repository
from agent_memory.version import VERSION

# Seconds until the agent goes on without an answer.
LIMIT = 1.0
# The same at the events at which an agent is given what the project knows. The server answers
# a session start in 0.3 s; the rest is for a slow network and a busy machine. A harness ends a
# hook after `scriptless.TIMEOUT` seconds, in which Python starts too.
RECALL_LIMIT = 2.5
BACKGROUND_LIMIT = 120.0  # seconds for a transcript, in a process that nobody waits for
EVENTS = frozenset(
    [
        "session-start",
        "prompt",
        "tool-failed",
        "subagent-start",
        "pre-compact",
        "stop",
        "session-end",
    ]
)
# `am doctor` runs this one: it goes the whole way, and counts as no event of a session.
CHECK = "check"
# What a session's start leaves to another process: no event of a harness either.
COMMITS = "commits"
RECALLS = frozenset(["session-start", "prompt", "tool-failed", CHECK])
# The agent reads no answer to these, and a harness gives them as little as 1.5 s together.
BACKGROUND = frozenset(["pre-compact", "stop", "session-end"])
DETACHED = BACKGROUND | {COMMITS}
# At these events the agent has finished its last task.
FINAL_EVENTS = frozenset(["stop", "session-end"])
GIVEN_HEADER = "x-given-files"
GIVEN_FILE = "given.json"
MAX_FILES = 50
MAX_FILE_BYTES = (
    1024 * 1024
)  # a larger file is not hashed: it would take the answer's time
MAX_EVENT_BYTES, CHUNK = 16 * 1024 * 1024, 1024 * 1024
# The harnesses whose transcripts the server reads.
READ_TRANSCRIPTS = ("claude-code", "codex", "copilot", "gemini", "opencode")
# Their hashes are never sent: a short secret can be guessed from its hash.
PRIVATE_NAMES = (
    ".env*",
    "*.env",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.tfvars",
    "id_rsa*",
    "id_ecdsa*",
    "id_ed25519*",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".htpasswd",
    ".git-credentials",
    ".ssh",
    ".aws",
    ".gnupg",
    ".kube",
    "credentials*",
    "secrets.*",
)
GIT_SECONDS = 0.3
NOTHING = "{}"


class Event(NamedTuple):
    """An event of a harness: the JSON that it wrote on stdin."""

    name: str
    harness: str
    payload: Mapping[str, Any]

    @property
    def folder(self) -> Path:
        """The folder that the agent works in."""
        roots = self.payload.get("workspace_roots") or [""]
        named = self.payload.get("cwd") or self.payload.get("directory")
        return Path(named or roots[0] or Path.cwd())

    @property
    def session(self) -> str:
        names = ("session_id", "sessionId", "conversation_id")
        return next((str(self.payload[n]) for n in names if self.payload.get(n)), "")

    @property
    def transcript_path(self) -> Path | None:
        names = ("transcript_path", "transcriptPath")
        path = next((self.payload[n] for n in names if self.payload.get(n)), None)
        return Path(path) if path else None

    @property
    def is_foreign(self) -> bool:
        """Whether another harness runs the hooks of this one: Copilot reads Claude Code's.

        The other one then has its own hooks, and would be answered twice.
        """
        return self.harness == "claude-code" and "sessionId" in self.payload


def main(arguments: list[str]) -> None:
    """Run a hook and end the process with 0, also while the server still keeps it waiting."""
    name, harness, is_detached = _parse(arguments)
    answer = [NOTHING]
    done = threading.Event()

    def work() -> None:
        try:
            answer[0] = run(name, harness, sys.stdin.buffer, is_detached=is_detached)
        except (
            Exception
        ) as error:  # whatever it is, the agent goes on and the log has it
            answer[0] = _report(harness, name, error)
        finally:
            done.set()

    threading.Thread(target=work, daemon=True).start()
    limit = BACKGROUND_LIMIT if is_detached else limit_of(name)
    if not done.wait(limit):
        error = TimeoutError(f"no answer within {limit:g} s")
        answer[0] = _report(harness, name, error)
    sys.stdout.write(answer[0])
    sys.stdout.flush()
    os._exit(0)  # a thread that still waits for the server would delay an ordinary exit


def limit_of(name: str) -> float:
    """Return the seconds that an agent waits at most for this event."""
    return RECALL_LIMIT if name in RECALLS else LIMIT


def _parse(arguments: list[str]) -> tuple[str, str, bool]:
    """Return the event, the harness, and whether this process runs in the background."""
    words = [word for word in arguments if not word.startswith("--")]
    harness = ""
    for position, word in enumerate(arguments):
        if word == "--harness" and position + 1 < len(arguments):
            harness = arguments[position + 1]
            words.remove(harness)
        elif word.startswith("--harness="):
            harness = word.partition("=")[2]
    return (words or [""])[0], harness, "--detached" in arguments


def _report(harness: str, name: str, error: Exception) -> str:
    """Add a failure to the log, and return what to print: the doctor reads the failure itself."""
    words = str(error) or type(error).__name__
    if name == CHECK:
        return words
    try:
        hook_log.add(harness, name, words)
    except OSError as second:  # a full disk must not fail an agent either
        sys.stderr.write(f"am hook: {words}; and no log can be written: {second}\n")
    return NOTHING


def run(name: str, harness: str, stdin: Any, *, is_detached: bool = False) -> str:
    """Return what the harness reads on stdout."""
    if name not in EVENTS | {CHECK, COMMITS}:
        raise ValueError(
            f"there is no event {name!r}; known are {', '.join(sorted(EVENTS))}"
        )
    text, payload = read_event(stdin)
    event = Event(name, harness, payload if isinstance(payload, dict) else {})
    if event.is_foreign:
        return NOTHING
    connection = connections.find(event.folder, connections.read())
    if connection is None or (name in DETACHED and connection.is_read_only):
        return NOTHING
    if name == CHECK:
        ask_status(connection)
        return NOTHING
    if name in DETACHED and not is_detached:
        detach(event, text)
        return NOTHING
    if not is_detached:
        if name == "session-start" and not connection.is_read_only:
            leave_commits(event, text)
        return answer_event(connection, event, limit=limit_of(name))
    if name == COMMITS:
        send_commits(connection, event)
        return NOTHING
    try:
        send_transcript(connection, event)
    finally:  # the end of a session is told also if its transcript is refused
        answer_event(connection, event, limit=BACKGROUND_LIMIT)
    return NOTHING


def read_event(stdin: Any) -> tuple[bytes, Any]:
    """Return an event as it came and as it reads, as soon as its JSON is whole.

    Some harnesses keep stdin open while they wait for the answer.
    """
    text = b""
    while len(text) < MAX_EVENT_BYTES and (more := stdin.read1(CHUNK)):
        text += more
        if not text.rstrip().endswith((b"}", b"]")):
            continue
        try:
            return text, _parse_event(text)
        except ValueError:  # a brace in the middle
            continue
    return text, _parse_event(text or b"{}")


def _parse_event(text: bytes) -> Any:
    return json.loads(text.decode("utf-8-sig", "replace"))


def answer_event(connection: Connection, event: Event, *, limit: float) -> str:
    """Post an event to the server; return its answer as the harness reads it."""
    # Only now: the hooks of a folder that is not connected end without it.
    from agent_memory import exchange

    body = {**event.payload, "am": describe_place(connection, event)}
    answer = exchange.require_success(
        exchange.send(
            connection,
            "POST",
            f"/hooks/{event.harness}",
            query={"project_id": connection.project_id},
            body=json.dumps(body).encode(),
            timeout=limit,
        )
    )
    headers = {name.lower(): value for name, value in answer.headers.items()}
    if GIVEN_HEADER in headers:
        keep_given_files(connection, json.loads(headers[GIVEN_HEADER]))
    return json.dumps(answer.data) if isinstance(answer.data, dict) else NOTHING


def ask_status(connection: Connection) -> None:
    """Ask for something small; raises if the server does not answer or refuses the key."""
    from agent_memory import exchange

    query = {"project_id": connection.project_id}
    path = "/hooks/status"
    limit = limit_of(CHECK)
    answer = exchange.send(connection, "GET", path, query=query, timeout=limit)
    exchange.require_success(answer)


def describe_place(connection: Connection, event: Event) -> dict[str, Any]:
    """Return what the server cannot know: the branch, and the files as they are here."""
    repository = find_repository(event.folder)
    place: dict[str, Any] = {"event": event.name, "client": VERSION}
    if repository:
        place["branch"] = repository.branch
    if event.name not in BACKGROUND:
        root = (repository.root if repository else event.folder) / connection.path
        place["files"] = hash_files(root, read_given_files(connection))
    return place


def is_private(path: str) -> bool:
    """Return whether files of this name hold secrets."""
    parts = path.lower().split("/")
    return any(fnmatch(part, pattern) for part in parts for pattern in PRIVATE_NAMES)


def find_tracked(root: Path, paths: list[str]) -> set[str]:
    """Return those of the paths that git tracks; without git, none."""
    import subprocess

    if not paths:
        return set()
    command = ["git", "--literal-pathspecs", "-C", str(root), "ls-files", "-z", "--"]
    try:
        done = subprocess.run(
            [*command, *paths],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return set()
    return set(os.fsdecode(done.stdout).split("\0"))


def hash_files(root: Path, paths: list[str]) -> dict[str, str | None]:
    """Return the SHA-256 of each file; None says that it is gone.

    A file that git does not track, that holds secrets by its name, that is too large, that
    cannot be read, or that is outside the root is left out: its hash would tell its text.
    """
    hashes: dict[str, str | None] = {}
    top = root.resolve()
    # A link may lead to a file that git does not track.
    plain = [
        path
        for path in paths
        if not is_private(path)
        and (top / path).resolve() == top / path
        and (top / path).is_relative_to(top)
    ]
    tracked = find_tracked(top, plain)
    for path in plain:
        file = top / path
        if file.exists() and path not in tracked:
            continue
        try:
            if file.stat().st_size <= MAX_FILE_BYTES:
                hashes[path] = hashlib.sha256(file.read_bytes()).hexdigest()
        except FileNotFoundError:
            hashes[path] = None
        except OSError:
            continue
    return hashes


def keep_given_files(connection: Connection, paths: list[Any]) -> None:
    """Keep the files that the server asked about, for the next events."""
    file = connection.state_folder / GIVEN_FILE
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    connections.write_private(
        file, json.dumps([str(path) for path in paths[:MAX_FILES]])
    )


def read_given_files(connection: Connection) -> list[str]:
    try:
        paths = json.loads((connection.state_folder / GIVEN_FILE).read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return []
    return [str(path) for path in paths][:MAX_FILES]


def send_transcript(connection: Connection, event: Event) -> None:
    from agent_memory import transcript

    path = event.transcript_path
    is_read = event.harness in READ_TRANSCRIPTS
    if is_read and path and path.is_file() and event.session:
        file = transcript.TranscriptFile(path, event.session, event.harness)
        is_final = event.name in FINAL_EVENTS
        transcript.send_new_part(connection, file, is_final=is_final)


def leave_commits(event: Event, text: bytes) -> None:
    """Leave the commits to another process; the start is answered also if there is none."""
    try:
        detach(event._replace(name=COMMITS), text)
    except OSError as error:
        _report(event.harness, COMMITS, error)


def send_commits(connection: Connection, event: Event) -> None:
    from agent_memory import commits

    commits.send_new(connection, event.folder)


def detach(event: Event, text: bytes) -> None:
    """Let another process handle the event, which outlives the harness's own."""
    import subprocess

    command = [sys.executable, str(Path(__file__).with_name("__main__.py"))]
    command += ["hook", event.name, "--harness", event.harness, "--detached"]
    options: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        flags = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
        options = {"creationflags": flags}
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **options,
    )
    assert process.stdin
    process.stdin.write(text)
    process.stdin.close()
    # The child is meant to outlive this process; without a code, Python warns of it.
    process.returncode = 0
