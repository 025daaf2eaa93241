"""Find the memories that a memory came from, and those that were made from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Q

from common.caller import Caller
from memories.models import Memory


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
    }
