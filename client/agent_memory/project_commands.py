"""The commands that use a project: search, remember, the rules, the inbox and more."""

from __future__ import annotations

import codecs
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from agent_memory import connections, mcp, skills
from agent_memory.client import Client
from agent_memory.connections import Connection, NotPossible
from agent_memory.errors import Problem
from agent_memory.output import (
    print_entries,
    print_fields,
    print_json,
    report_errors,
    say,
    write_time,
)
from agent_memory.own_command import spell
from agent_memory.places import this_machine

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Project = Annotated[
    str, typer.Option("--project", help="By default that of this folder.")
]
Limit = Annotated[int, typer.Option(help="At most so many.", min=1, max=100)]
Id = Annotated[str, typer.Argument(help="An id, or the beginning of one.")]
WATCH_SECONDS = 2.0
# What carries this tag is given at the start of every session.
PINNED_TAG = "pinned"

MAX_COMPARED = 1000  # rows, newest first, in which the beginning of an id is looked for
ID_LENGTH = 36
CURATOR_HINT = (
    "Set AGENT_MEMORY_KEY to a key with the role curator or owner, such as the one that "
    "`bin/up` printed at its first start."
)

inbox = typer.Typer(
    help="The proposals that wait for a person; alone, it lists them.",
    invoke_without_command=True,
)


def register(app: typer.Typer) -> None:
    for command in (
        context,
        search,
        show,
        remember,
        forget,
        rules,
        sessions,
        watch,
    ):
        app.command()(command)
    app.command(name="done")(report_task)
    app.command(name="export")(export_rules)
    app.command(name="import")(import_rules)
    app.add_typer(inbox, name="inbox")


@contextmanager
def open_client(project: str = "", *, as_json: bool) -> Iterator[Client]:
    """Yield the client of this folder's connection; AGENT_MEMORY_* stand before it."""
    with report_errors(as_json=as_json):
        found = find_connection(project)
        with Client(found.server, found.key, project=found.project_id) as client:
            yield client


def find_connection(project: str) -> Connection:
    """Return the connection of this folder, with what AGENT_MEMORY_* and the option name."""
    environment = this_machine().environment
    here = connections.find(Path.cwd(), connections.read())
    entry = here or Connection("", "", "", "", "", "")
    found = entry._replace(
        server=environment.get("AGENT_MEMORY_URL") or entry.server,
        key=environment.get("AGENT_MEMORY_KEY") or entry.key,
        project_id=project
        or environment.get("AGENT_MEMORY_PROJECT")
        or entry.project_id,
    )
    if not (found.server and found.key):
        raise NotPossible(
            f"{Path.cwd()} is not connected. Run {spell('connect')} in it, or set "
            "AGENT_MEMORY_URL and AGENT_MEMORY_KEY."
        )
    return found


def _print_text(answer: Any, text: str, *, as_json: bool) -> None:
    if as_json:
        print_json(answer)
    else:
        say(text or "Nothing.")


def context(
    task: Annotated[list[str], typer.Argument(help="What is to be done, in words.")],
    tokens: Annotated[int, typer.Option(help="The budget.", min=100)] = 2000,
    project: Project = "",
    as_json: Json = False,
) -> None:
    """Print what is known for a task: decisions, rules, memories, files, and the card."""
    with open_client(project, as_json=as_json) as client:
        answer = client.context(
            query=" ".join(task),
            token_budget=tokens,
            parts=["card", "decisions", "rules", "memories", "files"],
        )
        text = answer["text"] or f"Nothing has room in {tokens} tokens."
        notes = [f"Note: {note}" for note in answer.get("notes") or ()]
        _print_text(answer, "\n".join([text, *notes]), as_json=as_json)


def search(
    query: Annotated[list[str], typer.Argument(help="What to look for, in words.")],
    limit: Limit = 10,
    project: Project = "",
    as_json: Json = False,
) -> None:
    """Search the memories by words and by meaning."""
    with open_client(project, as_json=as_json) as client:
        hits = client.search(query=" ".join(query), limit=limit)["hits"]
        if as_json:
            print_json(hits)
            return
        rows = [{"score": hit["score"], **hit["memory"]} for hit in hits]
        print_entries(rows, ("id", "memory_type", "score"), ("content",), as_json=False)


def show(memory_id: Id, as_json: Json = False) -> None:
    """Print a memory with all its fields."""
    with open_client(as_json=as_json) as client:
        rows = client.follow(client.memories_list(limit=100, fields=["id"]))
        memory = client.memories_read(find_id(memory_id, rows))
        print_json(memory) if as_json else print_fields(memory)


def find_id(start: str, rows: Iterable[Any], *, other: str = "") -> str:
    """Return the id of the one row whose id begins so; a whole id is returned as it is.

    If there is none, it is `other`.
    """
    if len(start) >= ID_LENGTH:
        return start
    ids = [str(row["id"]) for row in islice(rows, MAX_COMPARED)]
    found = [each for each in ids if each.startswith(start.lower())]
    if not (found or other):
        raise NotPossible(
            f"No id begins with {start!r} among the newest {MAX_COMPARED:,}."
        )
    if not found:
        return other
    if len(found) > 1:
        names = ", ".join(found[:5])
        raise NotPossible(f"{len(found)} ids begin with {start!r}: {names}. Type more.")
    return found[0]


def remember(
    content: str,
    tag: Annotated[
        list[str] | None, typer.Option(help="Repeat it for several.")
    ] = None,
    file: Annotated[
        list[str] | None, typer.Option(help="A path; repeat it for several.")
    ] = None,
    project: Project = "",
    as_json: Json = False,
) -> None:
    """Tell the later sessions of all agents one thing, until you forget it.

    Of what you tell an agent, only "from now on, ..." is passed on, to your own agents.
    """
    with open_client(project, as_json=as_json) as client:
        receipt = client.memories_create(
            content=content, tags=[*(tag or []), PINNED_TAG], file_paths=file or []
        )
        _print_text(receipt, _describe_receipt(receipt), as_json=as_json)


def _describe_receipt(receipt: Mapping[str, Any]) -> str:
    if same := receipt.get("duplicate_of"):
        return f"Known already, as {same}: sessions start with it."
    end = spell(f"forget {receipt['id']}")
    return f"Remembered: sessions start with it. {end} ends that."


def forget(
    memory_id: Annotated[
        str, typer.Argument(help="An id, the beginning of one, or the name of a rule.")
    ],
    reason: Annotated[str, typer.Option(help="Why.")] = "A person asked for it.",
    project: Project = "",
    as_json: Json = False,
) -> None:
    """Delete a memory of your own; that of somebody else, or a rule, is proposed.

    It is deleted softly: a person can restore it. A proposal waits for a curator.
    """
    with open_client(project, as_json=as_json) as client:
        rows = client.follow(client.memories_list(limit=100, fields=["id"]))
        # The name of a rule is no id of a memory.
        found = find_id(memory_id, rows, other=memory_id)
        arguments = {"id": found, "reason": reason}
        answer = mcp.call_tool(find_connection(project), "forget", arguments)
        _print_text(answer.data, answer.text, as_json=as_json)


def report_task(
    goal: str,
    result: Annotated[str, typer.Option(help="What came of it.")] = "",
    outcome: Annotated[str, typer.Option(help="success, partial or failure")] = "",
    feedback: Annotated[str, typer.Option(help="What was said about it.")] = "",
    project: Project = "",
    as_json: Json = False,
) -> None:
    """Report a finished task, from which the project learns."""
    with open_client(project, as_json=as_json) as client:
        fields: dict[str, Any] = {
            "result": result,
            "outcome": outcome,
            "feedback": feedback,
        }
        given = {name: value for name, value in fields.items() if value}
        answer = client.complete_task(goal=goal, **given)
        lessons = answer.get("lessons") or []
        text = "\n".join(
            [
                f"Stored as {answer['memory_id']}.",
                *(f"- {x['content']}" for x in lessons),
            ]
        )
        _print_text(answer, text, as_json=as_json)


def rules(
    category: Annotated[str, typer.Option(help="Only this category.")] = "",
    project: Project = "",
    as_json: Json = False,
) -> None:
    """List the rules of the playbook."""
    with open_client(project, as_json=as_json) as client:
        chosen: dict[str, Any] = {"category": category} if category else {}
        page = client.playbook_read(**chosen)
        rows: list[Any] = [*client.follow(page)]
        if rows or as_json:
            print_entries(rows, ("id", "category"), ("content",), as_json=as_json)
            return
        words = [f"No rule of {category!r}." if category else "No rule is live yet."]
        say(" ".join([*words, *_describe_inbox(client)]))


def _describe_inbox(client: Client) -> Iterator[str]:
    """Yield a sentence about the proposals that wait, if there are any."""
    page = client.proposals_list(status=["pending"], limit=100)
    count = len(page["results"])
    if count == 1:
        yield f"1 proposal waits in the inbox: {spell('inbox')}"
    elif count:
        more = "+" if page["next"] else ""
        yield f"{count}{more} proposals wait in the inbox: {spell('inbox')}"


@inbox.callback()
def open_inbox(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        list_inbox()


@inbox.command(name="list")
def list_inbox(limit: Limit = 20, project: Project = "", as_json: Json = False) -> None:
    """List the proposals that wait."""
    with open_client(project, as_json=as_json) as client:
        page = client.proposals_list(status=["pending"], limit=limit)
        if not page["results"] and not as_json:
            say("No proposal waits for a person.")
            return
        texts = ("content", "reason")
        print_entries(page["results"], ("id", "operation"), texts, as_json=as_json)


Note = Annotated[str, typer.Option(help="Why.")]


@inbox.command(name="show")
def show_proposal(delta_id: Id, as_json: Json = False) -> None:
    """Print a proposal with its quotes and its gates."""
    with open_client(as_json=as_json) as client:
        delta = client.proposals_read(find_proposal(client, delta_id))
        print_json(delta) if as_json else print_fields(delta)


@inbox.command()
def accept(delta_id: Id, note: Note = "", as_json: Json = False) -> None:
    """Accept a proposal; this needs a curator's key in AGENT_MEMORY_KEY, not the agents' own."""
    _decide(
        delta_id,
        lambda c, found: c.proposals_accept(found, note=note),
        as_json=as_json,
    )


@inbox.command()
def reject(delta_id: Id, note: Note = "", as_json: Json = False) -> None:
    """Reject a proposal; this needs a curator's key in AGENT_MEMORY_KEY, not the agents' own."""
    _decide(
        delta_id,
        lambda c, found: c.proposals_reject(found, reason=note),
        as_json=as_json,
    )


def find_proposal(client: Client, start: str) -> str:
    """Return the id of the waiting proposal whose id begins so."""
    page = client.proposals_list(status=["pending"], limit=100)
    return find_id(start, client.follow(page))


def _decide(start: str, act: Callable[[Client, str], Any], *, as_json: bool) -> None:
    with open_client(as_json=as_json) as client:
        try:
            answer = act(client, find_proposal(client, start))
        except Problem as problem:
            if problem.code == "forbidden":
                problem.hint = CURATOR_HINT
            raise
        _print_text(answer, _describe_decision(answer["delta"]), as_json=as_json)


def _describe_decision(delta: Mapping[str, Any]) -> str:
    effects = {
        "accepted": "agents are given it from now on",
        "rejected": "agents are not given it",
    }
    status = delta["status"]
    effect = effects.get(status, "see it in the console")
    return f"{status.capitalize()}: {effect}.\n{delta.get('content', '')}".rstrip()


def sessions(limit: Limit = 20, project: Project = "", as_json: Json = False) -> None:
    """List the newest sessions."""
    with open_client(project, as_json=as_json) as client:
        page = client.sessions_list(limit=limit)
        rows: list[Any] = page["results"]
        if not as_json:
            rows = [{**r, "last_active": write_time(r["last_active"])} for r in rows]
        head = ("key", "last_active", "agent_id")
        print_entries(rows, head, ("title",), as_json=as_json)


class ExportFormat(StrEnum):
    ACE = "ace"
    AGENTS_MD = "agents-md"


class ImportFormat(StrEnum):
    ACE = "ace"
    AGENTS_MD = "agents-md"
    MARKDOWN = "markdown"


def export_rules(
    file: Annotated[Path | None, typer.Argument(help="By default stdout.")] = None,
    format: ExportFormat = ExportFormat.ACE,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--skills",
            metavar="FOLDER",
            help="Write SKILL.md files of the rules about tools and paths.",
        ),
    ] = None,
    project: Project = "",
    as_json: Json = False,
) -> None:
    """Write the playbook as ACE lines, for an AGENTS.md, or as skills."""
    with open_client(project, as_json=as_json) as client:
        if folder:
            _export_skills(client, folder, as_json=as_json)
            return
        text: Any = client.playbook_export(format=format.value)
        if file:
            file.write_text(text, encoding="utf-8")
        elif as_json:
            print_json({"content": text})
        else:
            sys.stdout.write(text)


def _export_skills(client: Client, folder: Path, *, as_json: bool) -> None:
    answer: Any = client.playbook_export(format="skills")
    change = skills.write_folder(folder, answer["project_id"], answer["files"])
    data = {
        "written": list(map(str, change.written)),
        "removed": list(map(str, change.removed)),
    }
    count = len(answer["files"])
    text = (
        f"{count} {'skill' if count == 1 else 'skills'} in {folder}: "
        f"{len(change.written)} written, {len(change.removed)} removed."
    )
    _print_text(data, text, as_json=as_json)


def import_rules(
    file: Annotated[Path, typer.Argument(help="A file of rules.")],
    format: Annotated[
        ImportFormat,
        typer.Option(help="Of markdown, each item of a list is one rule."),
    ] = ImportFormat.ACE,
    project: Project = "",
    as_json: Json = False,
) -> None:
    """Propose the rules of a file."""
    with open_client(project, as_json=as_json) as client:
        chosen: Any = format.value
        content = read_text(file)
        answer = client.playbook_import(content=content, format=chosen)
        _print_text(answer, json.dumps(answer, indent=2), as_json=as_json)


def read_text(file: Path) -> str:
    """Return a text of UTF-8, or of UTF-16 with its mark, with line feeds only."""
    data = file.read_bytes()
    is_wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = data.decode("utf-16" if is_wide else "utf-8-sig")
    except UnicodeDecodeError:
        raise NotPossible(f"{file} is no text in UTF-8; save it as UTF-8.") from None
    return text.replace("\r\n", "\n")


def watch(project: Project = "", as_json: Json = False) -> None:
    """Print finished tasks and proposals as they come, until Ctrl-C."""
    with open_client(project, as_json=as_json) as client:
        seen: set[str] = set()
        is_first = True
        while True:
            for row in read_news(client):
                if row["id"] not in seen and not is_first:
                    print_json(row) if as_json else say(f"{row['what']}: {row['text']}")
                seen.add(row["id"])
            is_first = False
            time.sleep(WATCH_SECONDS)


def read_news(client: Client) -> list[dict[str, str]]:
    """Return the newest tasks and proposals, oldest first."""
    runs = client.runs_list(limit=20)["results"]
    deltas = client.proposals_list(limit=20)["results"]
    news: list[dict[str, Any]] = [
        *({"what": f"task {run['state']}", **run} for run in runs),
        *({"what": f"proposal {delta['status']}", **delta} for delta in deltas),
    ]
    rows = [
        {
            "id": f"{row['id']} {row['what']}",
            "what": str(row["what"]),
            "text": str(row.get("goal") or row.get("content") or row["id"]),
            "at": str(row.get("created_at", "")),
        }
        for row in news
    ]
    return sorted(rows, key=lambda row: row["at"])
