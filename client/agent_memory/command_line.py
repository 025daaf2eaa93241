"""The commands of `am` that people type; hooks and the MCP bridge start without this module."""

from __future__ import annotations

import io
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import httpx
import typer
from rich.progress import track
from rich.syntax import Syntax

from agent_memory import (
    backfill,
    connections,
    doctor,
    exchange,
    hook,
    hook_log,
    keys,
    output,
    project_commands,
    settings_edit,
)
from agent_memory import commits as repository_commits
from agent_memory import connect as connecting
from agent_memory.connect import DEFAULT_SERVER, ConnectionWish
from agent_memory.connections import Connection, NotPossible
from agent_memory.errors import AgentMemoryError, Unreachable, VersionWarning
from agent_memory.harnesses import BY_NAME, Program
from agent_memory.output import report_errors, say
from agent_memory.own_command import spell
from agent_memory.places import this_machine
from agent_memory.scriptless import ProjectAddress
from agent_memory.version import VERSION

app = typer.Typer(
    name="am",
    help="Connect coding agents to an agent memory service, and use it from a terminal.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
project_commands.register(app)

PROBE_SECONDS = 2.0
# What a removal leaves beside the connections, and why somebody may want it.
KEPT = {
    connecting.BACKUPS: "your agents' files as they were before each change",
    hook_log.FILE: "which hooks failed",
}
MARKS = {"ok": "✓", "warning": "!", "fault": "✗"}
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Folder = Annotated[
    Path, typer.Option("--folder", help="The project's folder.", show_default="here")
]


class GivenKey(NamedTuple):
    """A key that is given; `is_named` says by a person, not by the environment."""

    secret: str
    is_named: bool


class Review(NamedTuple):
    """How a change is shown before it is written, and whether it is agreed to already."""

    is_agreed: bool
    shows_lines: bool
    is_json: bool


def main() -> None:
    warnings.simplefilter("ignore", VersionWarning)  # `am doctor` says it in words
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # no terminal has every letter
    app(prog_name="am")


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        say(VERSION)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the version.",
        ),
    ] = False,
) -> None: ...


@app.command()
def connect(
    context: typer.Context,
    folder: Folder = Path(),
    server: Annotated[
        str,
        typer.Option(
            envvar="AGENT_MEMORY_URL",
            help="The address of the service; by default that of the connection here, of the "
            f"newest one, or {DEFAULT_SERVER}.",
        ),
    ] = "",
    key: Annotated[
        str,
        typer.Option(
            envvar="AGENT_MEMORY_KEY",
            help="An owner's key, or one for this project. On the server's machine none is needed.",
        ),
    ] = "",
    project: Annotated[
        str, typer.Option(help="By default the name of the git repository.")
    ] = "",
    path: Annotated[
        str, typer.Option(help="A folder of a monorepo, as a project of its own.")
    ] = "",
    harness: Annotated[
        list[str] | None,
        typer.Option(help="Repeat it; by default all that are installed."),
    ] = None,
    agent_id: Annotated[
        str, typer.Option(help="The name under which your agents write.")
    ] = "",
    data: Annotated[
        str, typer.Option(help="The data folder of a server on this machine.")
    ] = "",
    read_only: Annotated[
        bool, typer.Option(help="A key that only reads, for CI and guests.")
    ] = False,
    print_only: Annotated[
        str,
        typer.Option(
            "--print", metavar="HARNESS", help="Print its settings, and write nothing."
        ),
    ] = "",
    scriptless: Annotated[
        bool,
        typer.Option(
            help="With --print: settings for a machine without `am`, which call the service."
        ),
    ] = False,
    remove: Annotated[
        bool, typer.Option(help="Take out what `am connect` put in.")
    ] = False,
    diff: Annotated[
        bool, typer.Option("--diff", help="Show every line that changes.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Connect this folder's project to the coding agents of this machine."""
    with report_errors(as_json=as_json):
        if scriptless and not print_only:
            raise NotPossible(
                "--scriptless goes with --print HARNESS: on a machine with `am`, a plain "
                f"{spell('connect')} does more."
            )
        if print_only and scriptless:
            name = project or connecting.name_project(folder)
            url = (server or DEFAULT_SERVER).rstrip("/")
            _print_settings(print_only, folder, ProjectAddress(url, name))
        elif print_only:
            _print_settings(print_only, folder, connecting.this_program())
        elif remove:
            place = connecting.root_of(folder) / path if path else folder
            removal = _plan_removal(place, path)
            if not as_json:
                _show_removal(removal, with_differences=diff)
            _disconnect(removal, yes=yes or as_json, as_json=as_json)
        else:
            known = connections.read()
            root = connecting.root_of(folder)
            place = root / (path or _ask_workspace(root, yes=yes))
            machine = this_machine()
            wish = ConnectionWish(
                folder=place,
                server=_find_server(server, place, known, yes=yes),
                project=project or connecting.name_project(place),
                harnesses=connecting.choose_harnesses(harness or [], machine),
                agent_id=agent_id or keys.agent_id_of_this_machine(),
                is_read_only=read_only,
            )
            source = context.get_parameter_source("key")
            source_of_key = GivenKey(key, bool(source and source.name == "COMMANDLINE"))
            review = Review(yes or as_json, diff, as_json)
            _connect(wish, known, source_of_key, data, review)


def _print_settings(name: str, folder: Path, source: Program | ProjectAddress) -> None:
    [harness] = connecting.choose_harnesses([name], this_machine())
    root = connecting.root_of(folder)
    files = settings_edit.render_files(harness, this_machine(), root, source)
    for path, text in files.items():
        say(f"# {path}\n{text}")
    if isinstance(source, ProjectAddress) and not harness.has_remote_hooks:
        say(f"# The hooks of {harness.title} only run commands: {spell('connect')}")


def _ask_workspace(root: Path, *, yes: bool) -> str:
    if yes or not connecting.holds_workspaces(root):
        return ""
    text = "This repository holds several packages. Connect one folder of it (empty: the whole)?"
    return str(typer.prompt(text, default="", show_default=False))


def _find_server(
    given: str, folder: Path, known: connections.Connections, *, yes: bool
) -> str:
    """Return the server that was named, that of this project, or one that answers here."""
    entry = connections.find(folder, known)
    newest = known.entries[-1].server if known.entries else DEFAULT_SERVER
    server = (given or (entry.server if entry else newest)).rstrip("/")
    while not _answers(server):
        if yes or given:
            raise NotPossible(
                f"No agent memory service answers at {server}. Start it with `bin/up`, or "
                "name its address with --server."
            )
        say(f"No agent memory service answers at {server}.")
        server = str(typer.prompt("The address of the service")).rstrip("/")
    return server


def _answers(server: str) -> bool:
    try:
        return httpx.get(f"{server}/healthz", timeout=PROBE_SECONDS).status_code == 200
    except (httpx.HTTPError, httpx.InvalidURL):
        return False


def _connect(
    wish: ConnectionWish,
    known: connections.Connections,
    key: GivenKey,
    data: str,
    review: Review,
) -> None:
    plan = connecting.plan(wish, known)
    before = known.at(plan.place)
    found = _find_kept(before, wish, key) if before else None
    if found:
        _confirm(plan, known, review)
    else:
        if not (key.secret or review.is_json):
            say("The checkout of the service makes a key; this takes some seconds.")
        # A key that the server does not know is said before anything is asked.
        with keys.open_source(wish.server, key.secret, data) as source:
            _confirm(plan, known, review)
            found = source.obtain(
                wish.project, wish.agent_id, is_read_only=wish.is_read_only
            )
    try:
        entry = connecting.apply(plan, found)
    except BaseException:
        _revoke_unless_kept(found, wish)
        raise
    if before and before.key_id and before.key != entry.key:
        reason = keys.revoke(before.server, before.key, before.key_id)
        if reason:
            say(f"The key before was not revoked: {reason}", is_error=True)
    _say_result(entry, wish, plan, as_json=review.is_json)


def _confirm(
    plan: connecting.Plan, known: connections.Connections, review: Review
) -> None:
    """Say what becomes of each file, and ask."""
    wish = plan.wish
    if not review.is_json:
        say(f"{wish.project} at {wish.server}")
        for harness in wish.harnesses:
            say(harness.title)
            for edit in plan.edits_of(harness):
                say(f"  {settings_edit.describe_edit(edit, this_machine(), known)}")
        if not wish.harnesses:
            say("No coding agent was found.")
        if review.shows_lines:
            _show_differences(plan.differences)
    if plan.differences and not review.is_agreed:
        _require_yes(plan.differences)


def _require_yes(differences: list[str]) -> None:
    """Go on after a yes only; `d` shows the differences, and asks again."""
    prompt = "Write this? [y/N, d shows every line]"
    while True:
        answer = typer.prompt(prompt, default="n", show_default=False).strip().lower()
        if answer in ("y", "yes"):
            return
        if answer != "d":
            raise typer.Abort
        _show_differences(differences)


def _show_differences(differences: list[str]) -> None:
    for difference in differences:
        output.console.print(Syntax(difference, "diff", background_color="default"))


def _find_kept(
    entry: Connection, wish: ConnectionWish, key: GivenKey
) -> keys.ConnectionKey | None:
    """Return the key that is there, if it is for the same and the server still takes it.

    One that was given, not made, gives way to another that a person names.
    """
    if (
        (entry.server, entry.project) != (wish.server, wish.project)
        or (entry.agent_id, entry.is_read_only) != (wish.agent_id, wish.is_read_only)
        or (key.is_named and not entry.key_id)
    ):
        return None
    return _key_of(entry)


def _revoke_unless_kept(key: keys.ConnectionKey, wish: ConnectionWish) -> None:
    """Revoke a key that was made for nothing, as the connection was not written."""
    kept = {entry.key for entry in connections.read().entries}
    if key.key_id and key.secret not in kept:
        keys.revoke(wish.server, key.secret, key.key_id)


def _key_of(entry: Connection) -> keys.ConnectionKey | None:
    """The key that is there, if the server still takes it."""
    found = keys.ConnectionKey(entry.key, entry.key_id, entry.project, entry.project_id)
    return found if keys.is_usable(entry.server, entry.key, entry.project_id) else None


def _say_result(
    entry: Connection, wish: ConnectionWish, plan: connecting.Plan, *, as_json: bool
) -> None:
    file = connections.file_of()
    written = [str(edit.path) for edit in plan.edits if edit.changes_something]
    if as_json:
        output.print_json(
            {
                "project": entry.project,
                "server": entry.server,
                "agent_id": entry.agent_id,
                "harnesses": list(entry.harnesses),
                "written": written,
                "key_file": str(file),
            }
        )
        return
    say(f"Connected. The key is in {file}, which only you may read.")
    for harness in wish.harnesses:
        if harness.note:
            say(harness.note)
    if not wish.harnesses:
        say(
            f"Install a coding agent and run {spell('connect')} again; known are {', '.join(BY_NAME)}."
        )
    say(
        f"{spell('doctor')} tries it; {spell('backfill')} sends the sessions that are already on "
        "this disk."
    )


def _plan_removal(folder: Path, path: str) -> connecting.Removal:
    known = connections.read()
    if path and known.at(connections.locate(folder)) is None:
        raise NotPossible(f"{path} is not connected by itself; nothing was removed.")
    return connecting.plan_removal(folder, known)


def _show_removal(removal: connecting.Removal, *, with_differences: bool) -> None:
    """Name the files of each harness that are changed or deleted."""
    entry = removal.entry
    say(f"{entry.project} at {entry.server}")
    edits = [edit for edit in removal.edits if edit.changes_something]
    for name in entry.harnesses:
        ours = [e for e in edits if e.change and e.change.harness == name]
        files = ", ".join(
            f"{this_machine().shorten(e.path)} ({'deleted' if e.after is None else 'changed'})"
            for e in ours
        )
        stays = "nothing changes; other connected projects use its settings"
        say(f"{BY_NAME[name].title}: {files or stays}")
    if with_differences:
        _show_differences([edit.difference for edit in edits])
    elif edits:
        say(f"{spell('connect --remove --diff')} shows how each file changes.")


def _say_what_stays(entry: Connection) -> None:
    """Say what a removal leaves on this machine and on the server, and how to delete it."""
    folder = connections.file_of().parent
    for name, what in KEPT.items():
        if (folder / name).exists():
            say(
                f"On this machine stays {folder / name}: {what}. Delete it if you like."
            )
    say(
        f"On {entry.server} stays what {entry.project} has stored. To delete it too, an owner "
        f"deletes the project in the admin or with DELETE /api/v1/projects/{entry.project_id}; "
        "for a time it can be restored."
    )


def _disconnect(removal: connecting.Removal, *, yes: bool, as_json: bool) -> None:
    if not yes:
        typer.confirm(
            f"Disconnect {removal.entry.project} and revoke its key?", abort=True
        )
    reason = connecting.remove(removal)
    if as_json:
        removed = [str(edit.path) for edit in removal.edits]
        output.print_json(
            {"removed": removed, "key_revoked": not reason, "reason": reason}
        )
        return
    say(f"Disconnected {removal.entry.project}.")
    _say_what_stays(removal.entry)
    if reason:
        say(f"Its key was not revoked: {reason}", is_error=True)


@app.command(name="doctor")
def run_doctor(
    fix: Annotated[bool, typer.Option(help="Mend what is safe to mend.")] = False,
    folder: Folder = Path(),
    as_json: Json = False,
) -> None:
    """Try everything between your agents and the service; say how to mend it."""
    with report_errors(as_json=as_json):
        mended = doctor.fix(folder) if fix else []
        findings = list(doctor.examine(folder))
    if as_json:
        output.print_json({"findings": [f.data for f in findings], "mended": mended})
    else:
        for line in mended:
            say(f"mended: {line}")
        for finding in findings:
            say(f"{MARKS[finding.status]} {finding.name}: {finding.detail}")
            if finding.mend and finding.mend != finding.detail:
                say(f"    {finding.mend}")
    if any(finding.status == "fault" for finding in findings):
        raise typer.Exit(output.FAULTS_FOUND)


@app.command(name="backfill")
def run_backfill(
    harness: Annotated[
        list[str] | None, typer.Option(help="Repeat it; by default all.")
    ] = None,
    folder: Folder = Path(),
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing.")] = False,
    commits: Annotated[
        bool, typer.Option("--commits", help="The repository's commits instead.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Send this project's sessions that are on this disk; run it again to resume."""
    with report_errors(as_json=as_json):
        entry = connections.find(folder, connections.read())
        if entry is None:
            raise NotPossible(
                f"{folder.resolve()} is not connected. Run {spell('connect')} in it."
            )
        if entry.is_read_only:
            raise NotPossible(
                "This connection only reads; connect without --read-only."
            )
        if not _answers(entry.server):
            raise Unreachable(
                f"{entry.server} does not answer.", hint="`bin/up` starts the service."
            )
        if commits:
            _send_commits(entry, folder, as_json=as_json)
            return
        chosen = connecting.choose_harnesses(harness or list(BY_NAME), this_machine())
        found = list(backfill.find_sessions(entry, this_machine(), chosen))
        if not as_json:
            _say_found(found, entry)
        if not found:
            return
        if not (yes or as_json):
            typer.confirm(f"Send them to {entry.server}?", abort=True)
        result = _send_sessions(entry, found, is_quiet=as_json)
    if as_json:
        output.print_json(result)
    else:
        say(
            f"{result['messages']} messages, {result['tasks']} tasks; learning goes on in the server."
        )
        for path, reason in result["failed"].items():
            say(f"{path}: {reason}", is_error=True)
    if result["failed"]:
        raise typer.Exit(output.FAILED)


def _send_commits(entry: Connection, folder: Path, *, as_json: bool) -> None:
    try:
        stored = repository_commits.send_new(entry, folder.resolve(), is_whole=True)
    except exchange.ExchangeError as error:
        raise AgentMemoryError(f"{error}.") from error
    if as_json:
        output.print_json({"commits": stored})
    else:
        say(f"{stored} new commits: subject, body, date and names of files.")


def _say_found(found: list[backfill.DiskSession], entry: Connection) -> None:
    """Say how many sessions there are, how large, and how many secrets will be masked."""
    by_harness: dict[str, list[backfill.DiskSession]] = {}
    for session in found:
        by_harness.setdefault(session.transcript.format, []).append(session)
    rows = [
        {
            "harness": name,
            "sessions": len(sessions),
            "MB": sum(session.bytes for session in sessions) / 1_000_000,
            "secrets": sum(session.secrets for session in sessions),
        }
        for name, sessions in by_harness.items()
    ]
    headings = {name: name for name in ("harness", "sessions", "MB")}
    output.print_rows(rows, {**headings, "secrets": "secrets to mask"}, as_json=False)
    say(
        f"The server masks secrets and personal data before it stores a text of {entry.project}."
    )


def _send_sessions(
    entry: Connection, found: list[backfill.DiskSession], *, is_quiet: bool
) -> dict[str, Any]:
    """Send the sessions; one that fails does not stop the others."""
    result: dict[str, Any] = {
        "sessions": len(found),
        "messages": 0,
        "tasks": 0,
        "failed": {},
    }
    for session in track(found, "Sending", console=output.errors, disable=is_quiet):
        if session.is_too_large:
            result["failed"][str(session.transcript.path)] = "larger than 64 MiB"
            continue
        try:
            stored = backfill.send(entry, session)
        except exchange.ExchangeError as error:
            result["failed"][str(session.transcript.path)] = str(error)
            continue
        result["messages"] += stored.messages
        result["tasks"] += stored.tasks
    return result


@app.command(name="hook")
def describe_hook(
    event: Annotated[str, typer.Argument(help=", ".join(sorted(hook.EVENTS)))],
    harness: Annotated[str, typer.Option(help=", ".join(BY_NAME))],
) -> None:
    """Pass an event of a coding agent to the server; it calls this, not you.

    It reads the event on stdin, prints the answer, and always ends with 0.
    """
    hook.main([event, "--harness", harness])


@app.command(name="mcp")
def describe_mcp(
    path: Annotated[Path, typer.Option(help="The project's folder.")] = Path(),
) -> None:
    """Serve the MCP tools of this folder's project on stdin and stdout; an agent starts it."""
    from agent_memory import mcp

    mcp.main(["--path", str(path)])
