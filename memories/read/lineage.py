"""Find the memories that a memory came from, and those that were made from it."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from django.db import connections
from django.db.models import Q

from common.caller import Caller
from memories.models import Memory

# `UNION` leaves out a source that was reached before.
SOURCES = """
WITH RECURSIVE source (id) AS (
    SELECT unnest(%s::uuid[])
    UNION
    SELECT unnest(array_append(memory.compacted_from, memory.promoted_from))
    FROM memories_memory AS memory JOIN source ON memory.id = source.id
)
SELECT id FROM source WHERE id IS NOT NULL
"""


def related_ids(memory: Memory, caller: Caller) -> dict[str, Any]:
    """Return the ids of the visible memories that a memory is connected to, by relation."""
    visible = Memory.objects.visible_to(caller).readable()

    def ids(*where: Q, **condition: Any) -> Sequence[str]:
        rows = visible.filter(*where, **condition).order_by("pk")
        return [str(pk) for pk in rows.values_list("pk", flat=True)[:100]]

    return {
        "duplicates": ids(duplicate_of=memory),
        "supersedes": ids(superseded_by=memory),
        "promoted_to": ids(promoted_from=memory.pk),
        # The first condition is the condition of the index.
        "compacted_into": ids(
            ~Q(compacted_from=[]), compacted_from__contains=[memory.pk]
        ),
        "sources": [str(pk) for pk in source_ids(memory, caller)],
    }


def source_ids(memory: Memory, caller: Caller) -> list[uuid.UUID]:
    """Return the ids of all memories that a memory was made from, directly or indirectly.

    Deleted sources are included. The oldest source comes first.
    """
    if not memory.is_derived:
        return []
    direct = [*memory.compacted_from, memory.promoted_from]
    with connections[Memory.objects.db].cursor() as cursor:
        cursor.execute(SOURCES, [direct])
        ids = [pk for (pk,) in cursor.fetchall()]
    visible = Memory.objects.visible_to(caller).filter(pk__in=ids)
    return list(visible.order_by("pk").values_list("pk", flat=True))
