"""Compare the files that rules and memories rest on with those of the agent's branch."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from django.db.models import Exists, OuterRef

from common.caller import Caller, Role
from common.db import write
from mcp_server.hooks.hook_event import MAX_FILES, HookEvent
from memories.models import File, Memory, MemoryFile
from memories.queries import PRIVATE_SCOPES
from playbook.entries.freshness import DEPENDENCY_RELATIONS
from playbook.models import Anchor
from projects.models import Project

# The branch that stands for the project's files, unless the project names one.
MAIN_BRANCHES = ("main", "master")


@dataclass(frozen=True)
class AnchorState:
    """The files that a text rests on, and those that have changed or are gone on a branch."""

    paths: frozenset[str] = frozenset()
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()


@dataclass(frozen=True)
class BranchFiles:
    """The hashes that an agent reported on its branch, and those attested of the project's files."""

    branch: str = ""
    reported: Mapping[str, str | None] = field(default_factory=dict)
    known: Mapping[str, str] = field(default_factory=dict)

    def compare(self, paths: Mapping[str, Collection[str]]) -> AnchorState:
        """Return the state of a text with these files.

        `paths` maps each file to the hashes that it had when the text was confirmed. Without
        such hashes, the file is compared with the project's.
        """
        changed, gone = [], []
        for path in sorted(paths):
            if path not in self.reported:
                continue
            digest = self.reported[path]
            expected = {*paths[path]} or {*filter(None, [self.known.get(path)])}
            if digest is None:
                gone.append(path)
            elif expected - {File.GONE} and digest not in expected:
                changed.append(path)
        return AnchorState(frozenset(paths), tuple(changed), tuple(gone))


def read(project: Project, event: HookEvent, caller: Caller) -> BranchFiles:
    """Return the files of an event beside those of the project that the caller may see."""
    if not event.hashes:
        return BranchFiles(event.branch)
    rows = File.objects.visible_to(caller).filter(
        project=project, file_path__in=list(event.hashes)
    )
    known = dict(rows.values_list("file_path", "attested_hash"))
    return BranchFiles(event.branch, event.hashes, known)


def of_rules(
    entry_ids: Iterable[uuid.UUID], files: BranchFiles
) -> Mapping[uuid.UUID, AnchorState]:
    """Return the states of entries: of the files that they name, and of their memories'.

    Only links of those who may attest count, as for the rest of a rule's freshness.
    """
    ids = list(entry_ids)
    found: defaultdict[uuid.UUID, dict[str, set[str]]] = defaultdict(dict)
    anchors = Anchor.objects.filter(entry__in=ids).order_by()
    for entry_id, path in anchors.values_list("entry_id", "file_path"):
        found[entry_id].setdefault(path, set())
    links = MemoryFile.objects.filter(
        memory__supports__entry__in=ids,
        is_attested=True,
        relation_type__in=DEPENDENCY_RELATIONS,
        file__file_path__in=list(files.reported),
    ).order_by()
    columns = ("memory__supports__entry_id", "file__file_path", "content_hash")
    for entry_id, path, digest in links.values_list(*columns):
        if entry_id in ids:
            found[entry_id].setdefault(path, set()).update(filter(None, [digest]))
    return {pk: files.compare(paths) for pk, paths in found.items()}


def of_memory(memory: Memory, files: BranchFiles) -> AnchorState:
    """Return the state of a memory, whose links are loaded."""
    paths: dict[str, set[str]] = {}
    for link in memory.file_links.all():
        if link.relation_type in DEPENDENCY_RELATIONS:
            hashes = paths.setdefault(link.file.file_path, set())
            hashes.update(filter(None, [link.content_hash]))
    return files.compare(paths)


@write
def learn_hashes(project: Project, event: HookEvent, caller: Caller) -> None:
    """Set the hashes of files that nobody has attested, if the branch is the main one.

    Only a caller who may attest does so: the hash holds for the sessions of all. A file that
    has one keeps it: `files/sync` changes it. A path that only private memories name gets
    none: a file with a hash is known to all, and outlives a purge.
    """
    named = [project.current_branch] if project.current_branch else MAIN_BRANCHES
    may_set = caller.may(Role.WRITER, project.pk) and caller.attests_in(project.pk)
    if event.branch not in named or not may_set:
        return
    links = MemoryFile.objects.filter(file=OuterRef("pk"))
    shared = links.exclude(memory__scope_kind__in=PRIVATE_SCOPES)
    anchors = Anchor.objects.filter(
        project_id=project.pk, file_path=OuterRef("file_path")
    )
    rows = File.objects.visible_to(caller).filter(
        Exists(shared) | Exists(anchors),
        project=project,
        file_path__in=[path for path, digest in event.hashes.items() if digest],
        attested_hash="",
    )
    unknown = list(rows.order_by("file_path")[:MAX_FILES])
    for file in unknown:
        file.attested_hash = event.hashes[file.file_path] or ""
        file.last_content_hash = file.last_content_hash or file.attested_hash
    File.objects.bulk_update(unknown, ["attested_hash", "last_content_hash"])
