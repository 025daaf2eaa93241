"""The key of a connection: issued with a key that may issue, or by the checkout of the server."""

from __future__ import annotations

import getpass
import os
import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from agent_memory.client import Client
from agent_memory.connections import NotPossible
from agent_memory.errors import AgentMemoryError, Problem

LOOPBACK = ("127.0.0.1", "localhost", "::1")
CHECKOUT = Path(__file__).resolve().parents[2]
# Prints the data folder of the checkout's service on a port, as its manage.py finds it.
LOCATE_CODE = (
    "import environ, sys;"
    "from embedded import data_folder, servers, service_note;"
    "environ.Env.read_env(data_folder.BASE_DIR / '.env');"
    "is_elsewhere = servers.is_set('DATABASE_URL');"
    "print('' if is_elsewhere else service_note.locate(port=int(sys.argv[1])))"
)
OTHER_DATA = (
    "The service at {server} does not run on the data of {place}, where a key would be made. "
    "Give the folder that its `bin/up` printed after `Data:` with --data, or a key with --key."
)
# Ends a key, whose secret is on stdin, by the checkout's own database.
REVOKE_CODE = (
    "import sys;"
    "from access import keys, models;"
    "hash = models.hash_secret(sys.stdin.read());"
    "keys.revoke(models.ApiKey.objects.get(hash=hash))"
)
POSTGRES_PID = "postgres/postmaster.pid"  # it is there while PostgreSQL runs
CREATE_SECONDS = 120.0  # the first command of a stopped service starts its servers
SECRET = re.compile(r"am_[A-Za-z0-9_\-]{10,200}")


@dataclass(frozen=True)
class ConnectionKey:
    """The key that a connection uses, and the project that it reaches.

    `key_id` is empty for a key that was given: only a key made here is revoked here.
    """

    secret: str
    key_id: str
    project: str
    project_id: str


def agent_id_of_this_machine() -> str:
    """Name who works here: the same name for all agents of a person on a machine."""
    return f"{getpass.getuser()}@{socket.gethostname().partition('.')[0]}"[:100]


def is_local(server: str) -> bool:
    return urlsplit(server).hostname in LOOPBACK


@dataclass(frozen=True)
class KeySource:
    """A key that the server knows: one that was given, or else an owner's made here."""

    client: Client
    given: str

    def obtain(
        self, project: str, agent_id: str, *, is_read_only: bool
    ) -> ConnectionKey:
        """Return a key of the project for this machine, and make the project if it is new.

        With a key that may not issue others, that key itself is used, if it sees the
        project and may do no more than the agents need.
        """
        try:
            return _issue(self.client, project, agent_id, is_read_only)
        except Problem as problem:
            if problem.status != 403 or not self.given:
                raise
            role = "viewer" if is_read_only else "writer"
            _require_role(self.client, self.given, role)
            return _use(self.client, self.given, project, problem)


@contextmanager
def open_source(server: str, given: str, data: str) -> Iterator[KeySource]:
    """Yield where a key comes from; raise first if the server does not know it.

    An owner's key that is made here ends with the block.
    """
    if given:
        with Client(server, given) as client:
            client.projects_list(limit=1)
            yield KeySource(client, given)
        return
    with _local_owner(server, data) as client:
        yield KeySource(client, "")


def _require_role(client: Client, given: str, role: str) -> None:
    """Refuse a given key that may do more than the agents need, or less."""
    rows = client.follow(client.keys_list())
    found = next((k["role"] for k in rows if given.startswith(k["prefix"])), "")
    if found != role:
        raise NotPossible(
            f"This key is {f'a {found}' if found else 'not listed'}; your agents would have "
            f"its rights, and need a {role}'s. Give an owner's key, from which one is made, or "
            f"a {role}'s from the page *Connect* of the admin."
        )


def _use(client: Client, given: str, project: str, problem: Problem) -> ConnectionKey:
    """Return the given key for the connection: its own project, or the one that is named."""
    found = list(client.follow(client.projects_list()))
    named = [p for p in found if p["name"] == project] or (
        found if len(found) == 1 else []
    )
    if not named:
        names = ", ".join(p["name"] for p in found) or "none"
        raise NotPossible(
            f"This key may not make keys ({problem.detail}), and it does not see the project "
            f"{project!r}. It sees: {names}. Name one with --project."
        ) from problem
    return ConnectionKey(given, "", named[0]["name"], named[0]["id"])


def _issue(
    client: Client, project: str, agent_id: str, is_read_only: bool
) -> ConnectionKey:
    found = next(iter(client.projects_list(name=project)["results"]), None)
    row = found or client.projects_create(name=project)
    name = f"am connect, {agent_id}"
    role: Literal["viewer", "writer"] = "viewer" if is_read_only else "writer"
    ended = _find_ended(client, row["id"], name, role)
    key = (
        client.keys_rotate(ended, overlap_hours=0)
        if ended
        else client.keys_issue(
            name=name, role=role, projects=[row["id"]], agent_id=agent_id
        )
    )
    if not key["secret"]:
        client.keys_revoke(key["id"])
        raise NotPossible(
            "The server made the key but its answer was lost. That key was revoked; run this "
            "again."
        )
    return ConnectionKey(key["secret"], key["id"], row["name"], row["id"])


def _find_ended(client: Client, project_id: str, name: str, role: str) -> str:
    """Return the id of the newest ended key of the same machine, or an empty text.

    Who connects again after a removal takes its place, and so is the same person as before.
    """
    for row in client.follow(client.keys_list(project_id=project_id)):
        has_ended = row["revoked_at"] and not row["replaced_by"]
        found = (row["name"], row["role"], row["projects"])
        if has_ended and found == (name, role, [project_id]):
            return row["id"]
    return ""


def revoke(server: str, secret: str, key_id: str) -> str:
    """End a key that was made here; return why that failed, or an empty text."""
    if not key_id:
        return "it was given to `am connect`, and may have other uses"
    try:
        with Client(server, secret) as client:
            client.keys_revoke(key_id)
    except AgentMemoryError as error:
        return str(error)
    return ""


@contextmanager
def _local_owner(server: str, data: str) -> Iterator[Client]:
    """Yield a client with an owner's key of the local server, which ends with the block.

    Whoever may read the service's data folder owns the service, so the checkout's own
    `manage.py create_key` makes the key. It is held in memory only, and revoked at the end.
    """
    if not is_local(server):
        raise NotPossible(
            f"Give a key of {server} with --key or in AGENT_MEMORY_KEY: an owner's, from which "
            "a key for this project is made, or one from the page *Connect* of the admin."
        )
    folder = locate_data(server, data)
    words = OTHER_DATA.format(server=server, place=folder or CHECKOUT)
    if is_stopped(folder):
        raise NotPossible(words)
    secret = _create_owner_key(str(folder or data))
    with Client(server, secret) as client:
        try:
            rows = client.follow(client.keys_list())
            key_id = next(k["id"] for k in rows if secret.startswith(k["prefix"]))
        except Problem as problem:
            left = _revoke_in_checkout(secret, str(folder or data))
            raise NotPossible(words + left) from problem
        try:
            yield client
        finally:
            client.keys_revoke(key_id)


def locate_data(server: str, data: str) -> Path | None:
    """Return the data folder that a key is made in; None if the database is not in one."""
    port = urlsplit(server).port or 0
    done = _run_checkout(["-c", LOCATE_CODE, str(port)], data)
    if done.returncode:
        raise NotPossible(
            f"The server's checkout does not know the data of {server}: {_last_line(done)} "
            "Name its folder with --data, or give a key with --key."
        )
    path = done.stdout.strip()
    return Path(path) if path else None


def is_stopped(folder: Path | None) -> bool:
    """Whether the PostgreSQL of a data folder is surely not running."""
    try:
        return folder is not None and not Path(folder, POSTGRES_PID).exists()
    except PermissionError:
        return False  # a folder of another user


def _run_checkout(
    arguments: list[str], data: str, given: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run the Python of the server's checkout in it, for a data folder, with this on stdin."""
    manage, python = CHECKOUT / "manage.py", CHECKOUT / ".venv/bin/python"
    if not manage.is_file() or not python.exists():
        raise NotPossible(
            "This `am` is not run from the server's checkout, so it cannot make a key by "
            "itself. Give an owner's key with --key or in AGENT_MEMORY_KEY: `bin/up` printed "
            "one on its first start."
        )
    return subprocess.run(
        [str(python), *arguments],
        cwd=CHECKOUT,
        env={**os.environ, **({"DATA_DIR": data} if data else {})},
        input=given,
        capture_output=True,
        text=True,
        timeout=CREATE_SECONDS,
        check=False,
    )


def _create_owner_key(data: str) -> str:
    command = ["manage.py", "create_key", "--role", "owner"]
    command += ["--name", "am connect (ends at once)", "--expires", "1"]
    done = _run_checkout(command, data)
    found = SECRET.search(done.stdout)
    if done.returncode or not found:
        raise NotPossible(
            f"The server's checkout could not make a key: {_last_line(done)} "
            "Give an owner's key with --key."
        )
    return found[0]


def _revoke_in_checkout(secret: str, data: str) -> str:
    """End a key that the checkout has made for another server; say it if that failed."""
    done = _run_checkout(["manage.py", "shell", "-c", REVOKE_CODE], data, secret)
    if not done.returncode:
        return ""
    return f" The key that was made there lives for a day: {_last_line(done)}"


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    return (done.stderr.strip().splitlines() or ["no reason was printed"])[-1]


def is_usable(server: str, secret: str, project_id: str) -> bool:
    """Whether the server still takes a key for its project."""
    with Client(server, secret) as client:
        try:
            client.projects_read(project_id)
        except Problem:
            return False
    return True
