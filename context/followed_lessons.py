"""Leave out of memories the lessons that nobody is to follow.

A memory keeps its lessons, and a search finds them. An agent is not given those that people
withdrew, nor those that a rule or another line beside them states.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace

from django.db.models import Case, Exists, F, OuterRef, Subquery, UUIDField, Value, When

from ace.models import AceRun
from common.caller import SYSTEM, Caller
from common.text.same_text import hash_text
from memories.models import Memory
from memories.queries import PRIVATE_SCOPES
from memories.read.search import MemoryHit
from memories.retention import compact
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
    hashes = {hash_text(line) for each in found for line in _lines(each)}
    if not hashes:
        return found
    left_out = _find_left_out(found, hashes, caller, rules)
    if not left_out and not said:
        return found

    def is_followed(memory: Memory, line: str) -> bool:
        text_hash = hash_text(line)
        return text_hash not in said and left_out.isdisjoint(
            (memory.project_id, of_memory, text_hash) for of_memory in (None, memory.pk)
        )

    return [_choose_lines(each, is_followed) for each in found]


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


@compact.on_summary
def choose_for_summary(memories: Sequence[Memory]) -> Sequence[Memory]:
    """Return memories as a summary of them has them, whoever reads it."""
    return choose(memories, SYSTEM)


def _find_left_out(
    memories: Iterable[Memory],
    hashes: Collection[str],
    caller: Caller,
    rules: Collection[uuid.UUID],
) -> frozenset[tuple[uuid.UUID, uuid.UUID | None, str]]:
    """Return the project and hash of each lesson to leave out, and of which memory.

    Without a memory, it is left out of all of the project: a text that was rejected is, but
    for one of a private memory. A union, because each part has an index of its own.
    """
    visible: DeltaQuerySet = PlaybookDelta.objects.visible_to(caller).order_by()
    rows = visible.filter(
        project__in={each.project_id for each in memories}, similarity_hash__in=hashes
    )
    private = Memory.objects.filter(
        pk=OuterRef("memory_id"), scope_kind__in=PRIVATE_SCOPES
    )
    runs = AceRun.objects.filter(memory__in=[each.pk for each in memories]).order_by()
    of_run = Subquery(runs.filter(pk=OuterRef("run_id")).values("memory_id"))
    parts = [
        rows.filter(status=PlaybookDelta.DeltaStatus.REJECTED)
        .of_withdrawn_lessons()
        .annotate(of_memory=Case(When(Exists(private), then=F("memory_id")))),
        rows.filter(run_id__in=runs.values("pk"))
        .of_withdrawn_lessons()
        .annotate(of_memory=of_run),
    ]
    if rules:
        in_force = rows.filter(status__in=PlaybookDelta.IN_FORCE, entry__in=rules)
        everywhere = Value(None, output_field=UUIDField())
        stated = in_force.filter(operation__in=STATES_LESSON)
        parts.append(stated.annotate(of_memory=everywhere))
    columns = ("project_id", "of_memory", "similarity_hash")
    first, *others = (part.values_list(*columns) for part in parts)
    return frozenset(first.union(*others))


def _choose_lines(memory: Memory, is_followed: Callable[[Memory, str], bool]) -> Memory:
    """Return the memory, or a copy of it without the lessons that are not followed."""
    lines = list(_lines(memory))
    kept = [line for line in lines if is_followed(memory, line)]
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
