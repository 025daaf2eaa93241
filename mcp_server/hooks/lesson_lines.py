"""The newest lessons of a project, each as the line that a context has of its memory."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from django.db.models import Q

from ace.models import AceRun
from common.caller import Caller
from context import followed_lessons, memory_lines
from context.memory_lines import MemoryLine
from mcp_server.hooks import branch_files
from mcp_server.hooks.branch_files import BranchFiles
from mcp_server.hooks.given_line import GivenLine
from mcp_server.models import Push
from memories import scopes
from memories.models import Memory
from memories.queries import Filters
from memories.read.retrieve import readable_rows
from projects.models import Project

KINDS = (Memory.Kind.EPISODE, Memory.Kind.NOTE, Memory.Kind.PROCEDURE)
MAX_LESSONS = 12  # memories that are read, the newest first


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
    own = scopes.read_too(None, project, caller)
    rows = readable_rows(
        project, None, Filters(kinds=KINDS), caller, shared=False, extra=own
    )
    teaching = ~Q(kind=Memory.Kind.EPISODE) | ~Q(lessons="")
    newest = rows.filter(teaching).order_by("-pk").in_full()[:MAX_LESSONS]
    memories = followed_lessons.choose(
        leave_out_own(newest, session), caller, rules=rules, said=lessons
    )
    lines = memory_lines.build(filter(_teaches, memories), said)
    return write([line for line in lines if line.happened], files)


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
    marked = memory_lines.mark_contradictions(lines)
    states = [branch_files.of_memory(line.memory, files) for line in marked]
    return [
        GivenLine(
            Push.PushKind.MEMORY,
            str(line.memory.pk),
            replace(line, changed=state.changed).text,
            tuple(sorted(state.paths)),
        )
        for line, state in zip(marked, states, strict=True)
        if not state.gone
    ]
