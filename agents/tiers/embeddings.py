"""Read the vectors of facts and episodes, for callers who may."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from common.caller import Caller, Role
from inference.embedding import active_model
from memories.models import Memory, MemoryVector
from projects.models import Project


def read_embeddings(
    project: Project, memories: Sequence[Memory], caller: Caller
) -> dict[uuid.UUID, list[float]]:
    """Return the vector of each memory's first chunk by the active model.

    Only a curator may: a vector tells about a text even to those who may not read it.
    """
    caller.require(Role.CURATOR, project.pk)
    rows = MemoryVector.objects.filter(
        memory__in=[memory.pk for memory in memories],
        model=active_model.get().name,
        chunk=0,
    )
    return {row.memory_id: [float(x) for x in row.vector] for row in rows}
