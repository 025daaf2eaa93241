"""What people told and the newest lessons of a project, each as the line of its memory."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from django.db.models import Count, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce

from ace.models import AceRun
from common.caller import Caller
from common.text.quote import json_string, json_value
from context import followed_lessons, memory_lines
from context.memory_lines import MemoryLine
from context.unsafe_texts import is_unsafe_memory
from mcp_server.hooks import branch_files
from mcp_server.hooks.branch_files import BranchFiles
from mcp_server.hooks.given_line import GivenLine, ToldLines
from mcp_server.models import Push
from memories import scopes
from memories.models import Memory, MemoryExposure
from memories.queries import (
    DEFAULT_SENSITIVITIES,
    TOLD,
    TOLD_KINDS,
    Filters,
    MemoryQuerySet,
)
from memories.read.retrieve import readable_rows
from projects.models import Project

KINDS = (Memory.Kind.EPISODE, Memory.Kind.NOTE, Memory.Kind.PROCEDURE)
MAX_TOLD = 100  # memories that are written; the budget has no room for more
MAX_READ = 48  # memories of which the lessons are chosen, the newest first
MAX_LESSONS = 12


def find_told(project: Project, caller: Caller, files: BranchFiles) -> ToldLines:
    """Return what people told: what tasks used most, then the newest and the oldest in turn.

    So what is told now has room, and displaces nothing that was told at first.
    """
    used = MemoryExposure.objects.filter(memory=OuterRef("pk")).exclude(used_as="")
    uses = used.order_by().values("memory").values_list(Count("pk"))
    rows = _readable(project, caller, TOLD_KINDS)
    counted = rows.order_by().annotate(uses=Coalesce(Subquery(uses), 0))
    columns = counted.values_list("pk", "uses")
    # What was told again is a duplicate: its original stands for it. Its query is one of its own,
    # because the index of what was told serves no other condition beside it.
    told_again = Memory.objects.current_or_duplicate().filter(TOLD, project=project)
    originals = told_again.filter(is_duplicate=True).values_list("duplicate_of")
    of_originals = columns.filter(pk__in=[pk for (pk,) in originals])
    newest = sorted({*columns.filter(TOLD), *of_originals}, reverse=True)
    pairs = zip(newest, reversed(newest), strict=True)
    in_turn = [each for pair in pairs for each in pair]
    by_use = sorted(dict(in_turn).items(), key=lambda each: -each[1])
    chosen = [pk for pk, _ in by_use[:MAX_TOLD]]
    memories = rows.in_full().in_bulk(chosen)
    lines = [
        GivenLine(Push.PushKind.MEMORY, str(pk), write_told(memories[pk]))
        for pk in chosen
        if pk in memories
        and not branch_files.of_memory(memories[pk], files).gone
        and not is_unsafe_memory(memories[pk], caller)
    ]
    count = len(newest) - len(chosen) + len(lines)
    return ToldLines(lines, count, "the tool search finds what people told")


def write_told(memory: Memory) -> str:
    """Write what was told in a short line: many are to have room."""
    value = (
        f"{json_string(memory.key)} = {json_value(memory.value)}; "
        if memory.key
        else ""
    )
    told = json_string(memory.content, memory_lines.MAX_LESSON)
    return f"- {value}{told} ({memory.created_at:%Y-%m-%d})"


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
    rows = rows.exclude(TOLD)
    newest = rows.order_by("-pk").in_full()[:MAX_READ]
    memories = followed_lessons.choose(
        leave_out_own(newest, session), caller, rules=rules, said=lessons
    )
    lines = memory_lines.build(filter(_teaches, memories), said)
    new = [line for line in lines if line.happened]
    return write(new[:MAX_LESSONS], files)


def _readable(project: Project, caller: Caller, kinds: Sequence[str]) -> MemoryQuerySet:
    """Return the memories of the scopes that the caller reads without naming them."""
    own = scopes.read_too(None, project, caller)
    filters = Filters(kinds=tuple(kinds), sensitivities=DEFAULT_SENSITIVITIES)
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
