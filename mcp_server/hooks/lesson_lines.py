"""The newest lessons of a project, each as the line that a context has of its memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from common.caller import Caller
from context import memory_lines
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
    project: Project, caller: Caller, files: BranchFiles, *, said: Sequence[str]
) -> list[GivenLine]:
    """Return the newest memories that have a lesson which `said` does not say."""
    own = scopes.read_too(None, project, caller)
    rows = readable_rows(
        project, None, Filters(kinds=KINDS), caller, shared=False, extra=own
    )
    newest = rows.exclude(lessons="").order_by("-pk").in_full()[:MAX_LESSONS]
    return write(newest, files, said=said)


def write(
    memories: Iterable[Memory], files: BranchFiles, *, said: Sequence[str]
) -> list[GivenLine]:
    """Return the lines of memories that say something new.

    A memory of a file that is gone on the agent's branch is left out, and one of a file
    that has changed there is marked.
    """
    lines = memory_lines.mark_contradictions(memory_lines.build(memories, said))
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
