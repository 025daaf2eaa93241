"""Store the sessions that a coding agent has written to disk."""

from __future__ import annotations

from argparse import ArgumentParser
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, transaction

from common import errors
from common.caller import SYSTEM
from conversations.exchange.restore_sessions import (
    BrokenExport,
    RestoreCounts,
    restore_sessions,
)
from conversations.messages.receive_transcript import TranscriptPart, receive
from conversations.models import Session
from conversations.sessions.lifecycle import SessionDraft, bootstrap
from conversations.sessions.lookup import read_user_id
from conversations.transcripts.events import TranscriptContext, TranscriptCounts
from conversations.transcripts.line_source import LineSource
from conversations.transcripts.open_file import open_transcript, read_lines
from conversations.transcripts.reader import FORMATS, read_messages
from conversations.transcripts.tasks import read_tasks
from projects.models import Project
from projects.project_lookup import find_project

HEADER = b'{"type":"header"'  # the beginning of the first line of an export


class Command(BaseCommand):
    help = (
        "Store transcripts of a coding agent (also .gz) as sessions and learn from them, or "
        "store the sessions of `export_sessions`. The same file again stores only what is new."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("files", nargs="+", type=Path)
        parser.add_argument("--project", required=True, help="the project's id or name")
        parser.add_argument("--format", default="claude-code", choices=list(FORMATS))
        parser.add_argument("--agent-id", help="by default the format's name")
        parser.add_argument("--user-id", default="")
        parser.add_argument("--dry-run", action="store_true", help="only count")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            project = find_project(options["project"], SYSTEM)
        except errors.Refusal as error:
            raise CommandError(str(error)) from error
        for path in options["files"]:
            try:
                if is_export(path):
                    self.restore_file(path, project, options)
                else:
                    self.import_file(path, project, options)
            except OSError as error:
                raise CommandError(f"{path} cannot be read: {error}") from error
            except (errors.Refusal, BrokenExport) as error:
                raise CommandError(f"{path}: {error}") from error
            except DatabaseError as error:
                raise CommandError(
                    f"{path}: the database refused a part ({error}). Repeat the import: it "
                    "goes on where it ended."
                ) from error

    def import_file(
        self, path: Path, project: Project, options: dict[str, Any]
    ) -> None:
        name = options["format"]
        key, counts = read_through(path, name)
        stored = 0
        if not options["dry_run"]:
            session = find_session(project, key, options)
            is_whole = False
            while not is_whole:
                with open_transcript(path) as file:
                    part = TranscriptPart(name, file, is_final=True)
                    receipt = receive(project, session, part, SYSTEM)
                is_whole = receipt.is_whole
                stored += receipt.messages
            receipt.counts.tasks, counts = counts.tasks, receipt.counts
        reasons = (counts.left_out + counts.unknown).most_common()
        left_out = ", ".join(f"{n} {why}" for why, n in reasons)
        self.stdout.write(
            f"{path.name}: {counts.messages} messages, {counts.tasks} tasks, {stored} "
            f"stored; of {counts.lines} lines left out: {left_out or 'none'}"
        )
        if counts.replaced:
            self.stdout.write(
                f"{path.name}: in {counts.replaced} texts, characters that cannot be stored "
                "became U+FFFD"
            )

    def restore_file(
        self, path: Path, project: Project, options: dict[str, Any]
    ) -> None:
        """Store an export; a dry run rolls back what it stored."""
        counts = RestoreCounts()
        with transaction.atomic() if options["dry_run"] else nullcontext():
            for counts in restore_sessions(project, read_lines(path), SYSTEM):
                if options["verbosity"] > 1:
                    self.stderr.write(f"{path.name}: {counts.sessions:,} sessions")
            if options["dry_run"]:
                transaction.set_rollback(True)
        self.stdout.write(
            f"{path.name}: {counts.sessions} sessions with {counts.messages} messages and "
            f"{counts.agent_memories} agent memories stored; {counts.known_sessions} sessions "
            f"and {counts.known_agent_memories} agent memories were there and are kept"
        )


def is_export(path: Path) -> bool:
    """Return whether the first line of a file is the header of an export."""
    first = next(iter(read_lines(path)), b"")
    return first.startswith(HEADER)


def read_through(path: Path, name: str) -> tuple[str, TranscriptCounts]:
    """Read a whole file; return the key of its session, and what it holds.

    A resumed session begins with the lines of another one, so that the last line counts.
    """
    counts, context = TranscriptCounts(), TranscriptContext()
    with open_transcript(path) as file:
        may_be_document = FORMATS[name].split is not None
        lines = LineSource(file, counts, may_be_document=may_be_document)
        messages = read_messages(name, lines, counts, context)
        counts.tasks = sum(1 for _ in read_tasks(messages))
    return context.session_id or path.name.split(".")[0], counts


def find_session(project: Project, key: str, options: dict[str, Any]) -> Session:
    draft = SessionDraft(
        key,
        agent_id=options["agent_id"] or options["format"],
        user_id=read_user_id(options["user_id"]),
        channel=options["format"],
    )
    session, _ = bootstrap(project, draft, SYSTEM)
    session.project = project
    return session
