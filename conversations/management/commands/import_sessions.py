"""Store the sessions that a coding agent has written to disk."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
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
from conversations.formats.message import ChatMessage
from conversations.messages.append import (
    MAX_CHARACTERS,
    MAX_MESSAGES,
    append,
    count_characters,
    prepare,
)
from conversations.sessions.lifecycle import SessionDraft, bootstrap
from conversations.sessions.lookup import read_user_id
from conversations.transcripts.claude_code import read_transcript
from conversations.transcripts.events import TranscriptCounts, TranscriptMessage
from conversations.transcripts.open_file import read_lines
from projects.models import Project
from projects.project_lookup import find_project

HEADER = b'{"type":"header"'  # the beginning of the first line of an export
Batch = tuple[str, list[ChatMessage]]


class Command(BaseCommand):
    help = (
        "Store transcripts of Claude Code (JSON lines, also .gz) as sessions, or the sessions "
        "of `export_sessions`. The same file again stores only what is new."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("files", nargs="+", type=Path)
        parser.add_argument("--project", required=True, help="the project's id or name")
        parser.add_argument("--agent-id", default="claude-code")
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
        counts, stored = TranscriptCounts(), 0
        for key, messages in batches(path, counts):
            if not options["dry_run"]:
                stored += store(project, key, messages, options)
        left_out = ", ".join(f"{n} {why}" for why, n in counts.left_out.most_common())
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


def batches(path: Path, counts: TranscriptCounts) -> Iterator[Batch]:
    """Yield the messages of a file in batches of one session, without those too long."""
    key, batch = "", list[ChatMessage]()
    for event in read_transcript(read_lines(path), counts):
        if not isinstance(event, TranscriptMessage):
            continue
        if count_characters(event.message) > MAX_CHARACTERS:
            counts.messages -= 1
            counts.left_out[f"longer than {MAX_CHARACTERS:,} characters"] += 1
            continue
        session_id = event.session_id or path.name.split(".")[0]
        if batch and (session_id != key or len(batch) == MAX_MESSAGES):
            yield key, batch
            batch = []
        key = session_id
        batch.append(event.message)
    if batch:
        yield key, batch


def store(
    project: Project, key: str, messages: list[ChatMessage], options: dict[str, Any]
) -> int:
    draft = SessionDraft(
        key,
        agent_id=options["agent_id"],
        user_id=read_user_id(options["user_id"]),
        channel="claude-code",
    )
    session, _ = bootstrap(project, draft, SYSTEM)
    receipt = append(project, session, prepare(project, messages), SYSTEM)
    return receipt.count
