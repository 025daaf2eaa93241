"""Find what a memory came from and what was made of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Q

from common.caller import Caller
from memories.models import Memory


def related_ids(memory: Memory, caller: Caller) -> dict[str, Any]:
    """The ids of what a memory came from and what came of it, as far as visible."""
    seen = Memory.objects.visible_to(caller).readable()

    def ids(*where: Q, **condition: Any) -> Sequence[str]:
        found = seen.filter(*where, **condition).order_by("pk")
        return [str(pk) for pk in found.values_list("pk", flat=True)[:100]]

    return {
        "duplicates": ids(duplicate_of=memory),
        "supersedes": ids(superseded_by=memory),
        "promoted_to": ids(promoted_from=memory.pk),
        # The index holds only those that were made of others.
        "compacted_into": ids(
            ~Q(compacted_from=[]), compacted_from__contains=[memory.pk]
        ),
    }
