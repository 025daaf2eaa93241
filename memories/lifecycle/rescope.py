"""Give the memories of a scope to another scope, as when a session gets its user."""

from __future__ import annotations

from common import errors
from common.db import write
from memories.models import Memory
from memories.scopes import Scope
from projects.models import Project


class ScopeTaken(errors.StateConflict):
    """The scope to which memories should move has memories already."""

    code = "scope_taken"


@write
def move_memories(project: Project, source: Scope, target: Scope) -> int:
    """Move all memories of a scope, with their duplicates; return their number.

    Refuse if both scopes have current memories, because texts and keys of facts may meet.
    """
    moved = Memory.objects.filter(project=project, scope_hash=source.hash)
    other = Memory.objects.filter(project=project, scope_hash=target.hash)
    if moved.current().exists() and other.current().exists():
        raise ScopeTaken(
            f"The scope {target.to_dict()} has memories already. Promote or delete those of "
            f"{source.to_dict()} first."
        )
    return moved.update(**target.columns)
