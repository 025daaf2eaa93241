"""The memories of ten agents, with their files, tags, duplicates and past."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise

from benchmarks import population
from benchmarks.population import Passages
from benchmarks.progress import Bar
from common.caller import SYSTEM
from memories import files, history, tags
from memories.drafts import Draft
from memories.models import File, Memory, MemoryChange, MemoryFile, PossibleDuplicate
from projects.models import Project

AGENTS, USERS, TOPICS = 10, 20, 300
TYPES = Memory.Type.values
MODULES, FOLDERS = 40, 12
FILES_PER = 30  # memories for each file
LINKS = 3  # files of a memory
DUPLICATE_EVERY, DOUBT_EVERY = 50, 200
OFTEN = 30  # corrections of one memory
BATCH = 1_000  # rows written in one statement


def write(project: Project, count: int, passages: Passages) -> None:
    shown = Bar("memories", count).show
    population.fill(project, count, passages, shown, dressed=_dressed)
    tags.ensure(project, [*population.TAGS, *map(_topic, range(TOPICS))])
    paths = [_path(number) for number in range(max(count // FILES_PER, LINKS + 1))]
    known = list(files.ensure(project, paths).values())
    bar = Bar("files, history", count)
    rows, done = _all(project), 0
    while batch := list(islice(rows, BATCH)):
        MemoryFile.objects.bulk_create(_links(batch, known, done))
        made = MemoryChange.Action.CREATE
        history.record_new(SYSTEM, [(made, memory) for memory in batch])
        _doubted(project, batch)
        done += len(batch)
        bar.show(done)


def _dressed(draft: Draft, number: int) -> Draft:
    return replace(
        draft,
        agent_id=f"agent-{number % AGENTS}",
        user_id=f"user-{number % USERS}",
        memory_type=TYPES[number % len(TYPES)],
        title=f"Note {number} of agent {number % AGENTS}",
        tags=(*draft.tags, _topic(number % TOPICS)),
    )


def _topic(number: int) -> str:
    return f"topic-{number}"


def _path(number: int) -> str:
    module, folder = number % MODULES, number // MODULES % FOLDERS
    return f"module_{module}/part_{folder}/file_{number}.py"


def _all(project: Project) -> Iterator[Memory]:
    rows = Memory.objects.filter(project=project).defer("content_terms", "content_tsv")
    yield from rows.order_by("pk").iterator(chunk_size=BATCH)


def _links(
    memories: Sequence[Memory], known: Sequence[File], start: int
) -> Iterator[MemoryFile]:
    for number, memory in enumerate(memories, start):
        for step in range(LINKS):
            file = known[number * (step + 1) % len(known)]
            relation = MemoryFile.Relation.values[step]
            yield MemoryFile(memory=memory, file=file, relation_type=relation)


def _doubted(project: Project, memories: Sequence[Memory]) -> None:
    """Some memories are duplicates of the one before them, some perhaps."""
    for older, newer in list(pairwise(memories))[::DUPLICATE_EVERY]:
        chosen = Memory.objects.filter(pk=newer.pk)
        chosen.update(is_duplicate=True, duplicate_of=older)
    PossibleDuplicate.objects.bulk_create(
        PossibleDuplicate(
            project=project,
            memory=newer,
            other=older,
            similarity=0.96,
            why_not_merged="numbers differ",
        )
        for older, newer in list(pairwise(memories))[1::DOUBT_EVERY]
    )


def correct(project: Project) -> None:
    """The newest memory was corrected over and over."""
    memory = Memory.objects.filter(project=project).order_by("-pk")[0]
    for number in range(OFTEN):
        before = history.state(memory)
        memory.title = f"Corrected {number}"
        history.record(SYSTEM, MemoryChange.Action.UPDATE, memory, before=before)
    memory.save(update_fields=["title"])
