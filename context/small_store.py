"""Give a store of a few short memories whole: choosing among them would only lose some."""

from __future__ import annotations

from collections.abc import Sequence

from common.caller import Caller
from inference import tokens
from memories.models import Memory
from memories.queries import Filters
from memories.read.retrieve import readable_rows
from memories.read.search import MemoryHit
from memories.scopes import Scope
from projects.models import Project

MAX_MEMORIES = 12
MAX_TOKENS = 300


def read(
    project: Project, caller: Caller, scopes: Sequence[Scope] = ()
) -> list[Memory]:
    """Return all memories that the caller reads, the newest first; none of a larger store."""
    rows = readable_rows(project, None, Filters(), caller, extra=scopes)
    memories = list(rows.order_by("-pk").in_full()[: MAX_MEMORIES + 1])
    size = sum(tokens.estimate(memory.content) for memory in memories)
    is_small = len(memories) <= MAX_MEMORIES and size <= MAX_TOKENS
    return memories if is_small else []


def complete(hits: Sequence[MemoryHit], store: Sequence[Memory]) -> list[MemoryHit]:
    """Return the hits, and behind them the other memories of the store."""
    found = {hit.memory.pk for hit in hits}
    rest = (memory for memory in store if memory.pk not in found)
    return [*hits, *(MemoryHit(each, 0.0, {}, "", "", False) for each in rest)]
