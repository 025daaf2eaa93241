"""Pinned memories and the newest lessons of a project, each as the line of its memory."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from django.db.models import Q

from ace.models import AceRun
from common.caller import Caller
from common.text.quote import json_string, json_value
from context import followed_lessons, memory_lines
from context.memory_lines import MemoryLine
from context.unsafe_texts import is_unsafe_memory
from mcp_server.hooks import branch_files, given_line
from mcp_server.hooks.branch_files import BranchFiles
from mcp_server.hooks.given_line import GivenLine, Section
from mcp_server.models import Push
from memories import scopes
from memories.models import Memory
from memories.queries import Filters, MemoryQuerySet
from memories.read.retrieve import readable_rows
from projects.models import Project

KINDS = (Memory.Kind.EPISODE, Memory.Kind.NOTE, Memory.Kind.PROCEDURE)
# `am remember` writes it; a memory that carries it is given at the start of every session.
PINNED_TAG = "pinned"
PINNED_KINDS = (Memory.Kind.FACT, Memory.Kind.NOTE, Memory.Kind.PROCEDURE)
MAX_PINNED = 100  # memories that are read, the newest first
MAX_READ = 48  # memories of which the lessons are chosen, the newest first
MAX_LESSONS = 12
LEFT_OUT_TOKENS = 20  # of the line that counts what has no room


def find_pinned(
    project: Project, caller: Caller, files: BranchFiles, *, max_tokens: int
) -> list[GivenLine]:
    """Return the pinned memories that have room, the newest first, and how many have none."""
    is_pinned = Q(tags__contains=[PINNED_TAG])
    # What was told again is a duplicate: its original stands for it.
    told_again = Memory.objects.filter(is_pinned, project=project, deleted_at=None)
    originals = told_again.exclude(duplicate_of=None).values("duplicate_of")
    rows = _readable(project, caller, PINNED_KINDS)
    rows = rows.filter(is_pinned | Q(pk__in=originals))
    memories = rows.order_by("-pk").in_full()[:MAX_PINNED]
    lines = [
        GivenLine(Push.PushKind.MEMORY, str(memory.pk), write_pinned(memory))
        for memory in leave_out_gone(memories, files)
        if not is_unsafe_memory(memory, caller)
    ]
    section = Section("", lines, max_tokens - LEFT_OUT_TOKENS)
    shown = given_line.lines_in([section], max_tokens)
    if left := len(lines) - len(shown):
        verb = "has" if left == 1 else "have"
        text = f"{left} more {verb} the tag {PINNED_TAG}, by which the tool search finds them."
        shown.append(GivenLine(Push.PushKind.NOTICE, PINNED_TAG, text))
    return shown


def write_pinned(memory: Memory) -> str:
    """Write what was told in a short line: many are to have room."""
    value = (
        f"{json_string(memory.key)} = {json_value(memory.value)}; "
        if memory.key
        else ""
    )
    told = json_string(memory.content, memory_lines.MAX_LESSON)
    return f"- {value}{told} ({memory.created_at:%Y-%m-%d})"


def leave_out_gone(memories: Iterable[Memory], files: BranchFiles) -> Iterator[Memory]:
    """Yield the memories of which no file is gone on the agent's branch."""
    for memory in memories:
        if not branch_files.of_memory(memory, files).gone:
            yield memory


def find_newest(
    project: Project,
    caller: Caller,
    files: BranchFiles,
    *,
    session: str,
    said: Sequence[str],
    rules: Collection[uuid.UUID] = (),
    lessons: Collection[str] = (),
) -> list[GivenLine]:
    """Return the newest memories that teach something which `said` does not say.

    `rules` are given too, and so are the lessons with the hashes `lessons`.
    An episode teaches by its lessons, but for those that people withdrew. What the session
    did itself is left out.
    """
    teaching = ~Q(kind=Memory.Kind.EPISODE) | ~Q(lessons="")
    rows = _readable(project, caller, KINDS).filter(teaching)
    rows = rows.exclude(tags__contains=[PINNED_TAG])
    newest = rows.order_by("-pk").in_full()[:MAX_READ]
    memories = followed_lessons.choose(
        leave_out_own(newest, session), caller, rules=rules, said=lessons
    )
    lines = memory_lines.build(filter(_teaches, memories), said)
    new = [line for line in lines if line.happened]
    return write(new[:MAX_LESSONS], files)


def _readable(
    project: Project, caller: Caller, kinds: Sequence[Memory.Kind]
) -> MemoryQuerySet:
    """Return the memories of the scopes that the caller reads without naming them."""
    own = scopes.read_too(None, project, caller)
    filters = Filters(kinds=tuple(kinds))
    return readable_rows(project, None, filters, caller, shared=False, extra=own)


def _teaches(memory: Memory) -> bool:
    return memory.kind != Memory.Kind.EPISODE or bool(memory.lessons)


def leave_out_own(memories: Iterable[Memory], session: str) -> list[Memory]:
    """Leave out the memories of the tasks of a session: who is in it knows them."""
    found = list(memories)
    if not session:
        return found
    runs = AceRun.objects.filter(memory__in=found, request__session_id=session)
    own = set(runs.order_by().values_list("memory_id", flat=True))
    return [memory for memory in found if memory.pk not in own]


def write(lines: Sequence[MemoryLine], files: BranchFiles) -> list[GivenLine]:
    """Return the lines of memories as a hook gives them.

    A memory of a file that is gone on the agent's branch is left out, and one of a file
    that has changed there is marked.
    """
    states = [branch_files.of_memory(line.memory, files) for line in lines]
    return [
        GivenLine(
            Push.PushKind.MEMORY,
            str(line.memory.pk),
            replace(line, changed=state.changed).text,
            tuple(sorted(state.paths)),
        )
        for line, state in zip(lines, states, strict=True)
        if not state.gone
    ]
