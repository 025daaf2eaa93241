"""Leave out of memories the lessons that nobody is to follow.

A memory keeps its lessons, and a search finds them. An agent is not given those that people
withdrew, nor those that a rule or another line beside them states.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace

from ace.models import AceRun
from common.caller import Caller
from common.text.plain_text import similarity_hash
from memories.models import Memory
from memories.read.search import MemoryHit
from playbook.models import PlaybookDelta
from playbook.queries import STATES_LESSON, DeltaQuerySet


def choose(
    memories: Iterable[Memory],
    caller: Caller,
    *,
    rules: Collection[uuid.UUID] = (),
    said: Collection[str] = (),
) -> list[Memory]:
    """Return the memories with the lessons that an agent is to follow, in one query.

    `rules` are the rules that the agent is given, and `said` are the hashes of lessons that
    it is given otherwise. The rows in the database stay.
    """
    found = list(memories)
    hashes = {similarity_hash(line) for each in found for line in _lines(each)}
    if not hashes:
        return found
    left_out = _find_left_out(found, hashes, caller, rules) | frozenset(said)
    return [_without(each, left_out) for each in found] if left_out else found


def choose_of_hits(
    hits: Sequence[MemoryHit],
    caller: Caller,
    *,
    rules: Collection[uuid.UUID] = (),
    said: Collection[str] = (),
) -> list[MemoryHit]:
    memories = choose([hit.memory for hit in hits], caller, rules=rules, said=said)
    return [
        replace(hit, memory=memory) for hit, memory in zip(hits, memories, strict=True)
    ]


def _find_left_out(
    memories: Iterable[Memory],
    hashes: Collection[str],
    caller: Caller,
    rules: Collection[uuid.UUID],
) -> frozenset[str]:
    """Return which hashes are of lessons to leave out.

    A text that was rejected is left out of every memory; a union, because each part has an
    index of its own.
    """
    visible: DeltaQuerySet = PlaybookDelta.objects.visible_to(caller).order_by()
    rows = visible.filter(
        project__in={each.project_id for each in memories}, similarity_hash__in=hashes
    )
    runs = AceRun.objects.filter(memory__in=[each.pk for each in memories])
    rejected = rows.filter(
        status=PlaybookDelta.DeltaStatus.REJECTED
    ).of_withdrawn_lessons()
    of_runs = rows.filter(
        run_id__in=runs.order_by().values("pk")
    ).of_withdrawn_lessons()
    parts = [rejected, of_runs]
    if rules:
        in_force = rows.filter(status__in=PlaybookDelta.IN_FORCE, entry__in=rules)
        parts.append(in_force.filter(operation__in=STATES_LESSON))
    first, *others = (part.values_list("similarity_hash", flat=True) for part in parts)
    return frozenset(first.union(*others))


def _without(memory: Memory, left_out: Collection[str]) -> Memory:
    """Return the memory, or a copy of it without these lessons."""
    lines = list(_lines(memory))
    kept = [line for line in lines if similarity_hash(line) not in left_out]
    if len(kept) == len(lines):
        return memory
    changed = copy(memory)
    changed.lessons = "\n".join(kept)
    # The last part of the content of an episode (`memories.store.episode_text`).
    part = f"\nLessons: {changed.lessons}" if kept else ""
    changed.content = memory.content.replace(f"\nLessons: {memory.lessons}", part)
    return changed


def _lines(memory: Memory) -> Iterator[str]:
    return filter(None, map(str.strip, memory.lessons.splitlines()))
