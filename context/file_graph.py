"""Build the knowledge graph of a file: REQ-MEM-API-004."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, Exists, OuterRef

from common import errors
from common.caller import Caller, Role
from memories.models import File, Memory, MemoryFile
from memories.queries import Filters
from memories.read import retrieve
from playbook.models import Anchor, PlaybookEntry, Support
from playbook.reading import entry_list
from projects.models import Project
from search.columns import search_columns_of

MAX_MEMORIES = 100  # the newest memories of a file; the counts include all
MAX_RELATED = 20  # related files


@dataclass(frozen=True)
class RelatedFile:
    """A file that shares memories with the requested file.

    `strength` is the share of the requested file's memories that both files have, 0..1.
    """

    file_path: str
    shared_memories: int
    strength: float


@dataclass(frozen=True)
class FileGraph:
    file: File
    memories: dict[str, list[Memory]]
    suspect: set[Any]
    entries: list[PlaybookEntry]
    related: list[RelatedFile]
    tags: dict[str, int]
    types: dict[str, int]
    relations: dict[str, int] = field(default_factory=dict)
    memory_count: int = 0


def build(project: Project, path: str, caller: Caller) -> FileGraph:
    """Return a file, its memories by relation, its entries and its related files."""
    caller.require(Role.VIEWER, project.pk)
    file = (
        File.objects.visible_to(caller)
        .with_memory_count(caller)
        .filter(project=project, file_path=path)
        .first()
    )
    if file is None:
        raise errors.NotFound(f"The project has no file {path}.")
    # Like every read without a scope (docs/api.md, "Search"), the graph shows nothing
    # private or sensitive.
    visible = retrieve.readable_rows(project, None, Filters(), caller).filter(
        project=project
    )
    links = MemoryFile.objects.filter(file=file, memory__in=visible)
    linked = visible.filter(file_links__file=file).distinct()
    count = linked.count()
    return FileGraph(
        file=file,
        memories=_by_relation(links),
        suspect=set(
            links.exclude(suspect_since=None).values_list("memory_id", flat=True)
        ),
        entries=_entries(project, path, linked, caller),
        related=_related_files(file, linked, count),
        tags=_tags(linked),
        types=dict(
            linked.order_by()
            .values_list("memory_type")
            .annotate(n=Count("pk", distinct=True))
        ),
        relations=dict(
            links.order_by().values_list("relation_type").annotate(n=Count("pk"))
        ),
        memory_count=count,
    )


def _entries(
    project: Project, path: str, linked: Any, caller: Caller
) -> list[PlaybookEntry]:
    """Return the entries that belong to the file.

    A memory of the file supports the entry, or the text of the entry names the file.
    """
    rows = entry_list.find(project, entry_list.EntryFilters(), caller).filter(
        Exists(Support.objects.filter(entry=OuterRef("pk"), memory__in=linked))
        | Exists(Anchor.objects.filter(entry=OuterRef("pk"), file_path=path))
    )
    newest = rows.order_by("-priority", "-pk")
    return list(entry_list.with_details(newest, caller)[:MAX_MEMORIES])


def _by_relation(links: Any) -> dict[str, list[Memory]]:
    result: dict[str, list[Memory]] = defaultdict(list)
    newest = links.select_related("memory").order_by("-memory_id")
    for link in newest.defer(*search_columns_of("memory"))[:MAX_MEMORIES]:
        result[link.relation_type].append(link.memory)
    return dict(result)


def _related_files(file: File, linked: Any, count: int) -> list[RelatedFile]:
    shared = (
        MemoryFile.objects.filter(memory__in=linked.values("pk"))
        .exclude(file=file)
        .order_by()
        .values("file__file_path")
        .annotate(n=Count("memory", distinct=True))
        .order_by("-n", "file__file_path")[:MAX_RELATED]
    )
    return [
        RelatedFile(row["file__file_path"], row["n"], round(row["n"] / count, 4))
        for row in shared
    ]


def _tags(linked: Any) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for tags in linked.order_by("-pk").values_list("tags", flat=True)[:1000]:
        counts.update(tags)
    return dict(counts.most_common(50))
