"""The knowledge graph of a file as branches with leaves. Each leaf is a link."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TypeVar
from urllib.parse import urlencode

from django.urls import reverse

from common.text import comma_list
from common.text.plain_text import clip
from console import list_urls
from context.file_graph import FileGraph, RelatedFile
from memories.models import Memory
from playbook.models import PlaybookEntry
from projects.models import Project

T = TypeVar("T")
# Leaves drawn for a branch; the list beside the drawing shows all leaves.
MAX_LEAVES = 12
MAX_TITLE = 300  # characters of a leaf's full title


@dataclass(frozen=True)
class Leaf:
    label: str
    title: str
    url: str
    is_suspect: bool = False
    strength: float = 0.0  # how strongly a related file is related, from 0 to 1


@dataclass(frozen=True)
class Branch:
    """One relation of the file. `count` includes the leaves that are not drawn."""

    name: str
    kind: str  # memory, entry, file or tag; decides how the leaves are drawn
    leaves: Sequence[Leaf]
    count: int


def build(graph: FileGraph, project: Project) -> list[Branch]:
    return [branch for branch in _every_branch(graph, project) if branch.leaves]


def _every_branch(graph: FileGraph, project: Project) -> Iterator[Branch]:
    for relation, count in sorted(graph.relations.items()):
        rows = graph.memories.get(relation, [])
        leaves = [_memory_leaf(one, one.pk in graph.suspect) for one in _first(rows)]
        yield Branch(relation, "memory", leaves, count)
    entries = [_entry_leaf(one) for one in _first(graph.entries)]
    yield Branch("playbook", "entry", entries, len(graph.entries))
    files = [_file_leaf(one, project) for one in _first(graph.related)]
    yield Branch("related files", "file", files, len(graph.related))
    tags = [_tag_leaf(*one, project) for one in _first(graph.tags.items())]
    yield Branch("tags", "tag", tags, len(graph.tags))


def _first(rows: Iterable[T]) -> list[T]:
    return list(rows)[:MAX_LEAVES]


def _memory_leaf(memory: Memory, is_suspect: bool) -> Leaf:
    changed = " (the file changed since)" if is_suspect else ""
    title = f"{memory.get_memory_type_display()}: {memory.text}"
    url = reverse("admin:memories_memory_change", args=[memory.pk])
    return Leaf(str(memory), clip(title, MAX_TITLE) + changed, url, is_suspect)


def _entry_leaf(entry: PlaybookEntry) -> Leaf:
    url = reverse("admin:playbook_playbookentry_change", args=[entry.pk])
    title = f"{entry.label}: {entry.content}"
    return Leaf(entry.label, clip(title, MAX_TITLE), url)


def _file_leaf(related: RelatedFile, project: Project) -> Leaf:
    path = related.file_path
    title = f"{path}: {related.shared_memories} shared, {related.strength:.0%}"
    return Leaf(
        PurePosixPath(path).name or path,
        clip(title, MAX_TITLE),
        file_url(project, path),
        strength=related.strength,
    )


def _tag_leaf(name: str, count: int, project: Project) -> Leaf:
    title = f"Tag {name}: {count:,} memories"
    tag = comma_list.join([name])
    return Leaf(name, title, list_urls.admin_list("memories_memory", project, tag=tag))


def file_url(project: Project, path: str) -> str:
    """Return the URL of a file's page."""
    query = urlencode({"project": project.pk, "path": path})
    return f"{reverse('console:file')}?{query}"
