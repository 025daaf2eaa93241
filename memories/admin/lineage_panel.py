"""A panel with the memories that a memory is connected to.

The panel shows only memories that the caller may see.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from common.admin import panels
from common.admin.panels import Panel, format_time, row_link
from common.caller import Caller
from memories.admin.status import MEMORY, status_of
from memories.models import Memory
from memories.read import lineage

# The relations of `related_ids`, in words that describe the memory of the page.
LATER = {
    "duplicates": "has the duplicate",
    "supersedes": "supersedes",
    "promoted_to": "was promoted to",
    "compacted_into": "was compacted into",
}


def build_panel(memory: Memory, caller: Caller) -> Panel:
    related = list(_related_ids(memory, caller))
    visible = (
        Memory.objects.visible_to(caller).light().in_bulk([pk for _, pk in related])
    )
    rows = {str(pk): row for pk, row in visible.items()}
    return panels.table(
        "Lineage and duplicates",
        ["This memory", "Memory", "State", "Created"],
        (
            [
                how,
                row_link(MEMORY, pk, rows[pk]),
                status_of(rows[pk]),
                format_time(rows[pk].created_at),
            ]
            for how, pk in related
            if pk in rows
        ),
        empty="It is connected to no other memory.",
    )


def _related_ids(memory: Memory, caller: Caller) -> Iterator[tuple[str, str]]:
    earlier: dict[str, Any] = {
        "was promoted from": memory.promoted_from,
        "is a duplicate of": memory.duplicate_of_id,
        "was superseded by": memory.superseded_by_id,
    }
    yield from ((how, str(pk)) for how, pk in earlier.items() if pk)
    ids = lineage.related_ids(memory, caller)
    yield from ((how, pk) for name, how in LATER.items() for pk in ids[name])
