"""Files of the code base: linked by memories, renamed, and kept in step with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone

from audit import trail
from common import errors
from common.caller import Caller, Role
from common.db import write
from memories.models import File, Memory, MemoryFile
from memories.store.drafts import FileRef, clean_path
from projects.models import Project

RenameHook = Callable[[Project, str, str], None]
UPDATE_BATCH = 500  # rows of one UPDATE
# What apps above keep by path, such as the anchors of playbook entries, moves along.
RENAME_HOOKS: list[RenameHook] = []


def on_rename(move: RenameHook) -> RenameHook:
    """Register a function of project, old and new path; it runs in the transaction."""
    RENAME_HOOKS.append(move)
    return move


def ensure(project: Project, paths: Iterable[str]) -> dict[str, File]:
    """The rows of these paths, made where missing, seen just now: {path: file}.

    Sorted, and one statement, so that concurrent writers lock in one order.
    """
    wanted = sorted(set(paths))
    if not wanted:
        return {}
    now = timezone.now()
    rows = [
        File(
            project=project,
            file_path=path,
            file_type=PurePosixPath(path).suffix.lstrip(".").lower()[:32],
            first_seen_at=now,
            last_seen_at=now,
        )
        for path in wanted
    ]
    File.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["project", "file_path"],
        update_fields=["last_seen_at"],
    )
    found = File.objects.filter(project=project, file_path__in=wanted)
    return {file.file_path: file for file in found}


def link(memory: Memory, refs: Sequence[FileRef], known: Mapping[str, File]) -> None:
    """Link a new memory to files; one without any is not asked for them again."""
    if not refs:
        # A fact may have those of a note that made room for it.
        if not memory.is_keyed_fact:
            _cache_no_links(memory)
        return
    MemoryFile.objects.bulk_create(
        [
            MemoryFile(
                memory=memory,
                file=known[ref.path],
                relation_type=ref.relation,
                line_start=ref.line_start,
                line_end=ref.line_end,
                content_hash=ref.content_hash or known[ref.path].last_content_hash,
            )
            for ref in refs
        ],
        ignore_conflicts=True,
    )


def _cache_no_links(memory: Any) -> None:
    # Empty in itself, too: who filters it further asks again.
    none: Any = MemoryFile.objects.none()
    none._result_cache = []
    memory._prefetched_objects_cache = {"file_links": none}


def copy_links(source: Memory, target: Memory) -> None:
    """Give `target` the links of `source` that it lacks: a duplicate's evidence."""
    MemoryFile.objects.bulk_create(
        [
            MemoryFile(
                memory=target,
                file_id=link.file_id,
                relation_type=link.relation_type,
                line_start=link.line_start,
                line_end=link.line_end,
                content_hash=link.content_hash,
                suspect_since=link.suspect_since,
            )
            for link in source.file_links.all()
        ],
        ignore_conflicts=True,
    )


@write
def rename(project: Project, old: str, new: str, caller: Caller) -> File:
    """Move a file's links to its new path and remember the old one."""
    caller.require(Role.WRITER, project.pk)
    new = clean_path(new)
    if not new:
        raise errors.Invalid(errors={"new_path": ["This names no file."]})
    file: File | None = (
        File.objects.visible_to(caller)
        .select_for_update(no_key=True, of=("self",))
        .filter(project=project, file_path=old)
        .first()
    )
    if file is None:
        raise errors.NotFound(f"The project has no file {old}.")
    if old == new:
        return file
    target: File | None = File.objects.filter(project=project, file_path=new).first()
    if target:
        _move_links(file, target)
        target.renamed_from = [*file.renamed_from, old, *target.renamed_from]
        target.first_seen_at = min(file.first_seen_at, target.first_seen_at)
        moments = [at for at in (file.changed_at, target.changed_at) if at]
        target.changed_at = max(moments, default=None)
        # What the caller knew by its content, it knows under the new path.
        target.last_content_hash = target.last_content_hash or file.last_content_hash
        file.delete()
    else:
        target = file
        target.renamed_from = [*file.renamed_from, old]
        target.file_path = new
        target.file_type = PurePosixPath(new).suffix.lstrip(".").lower()[:32]
    target.last_seen_at = timezone.now()
    target.save()
    for move in RENAME_HOOKS:
        move(project, old, new)
    trail.record(
        caller,
        "file.rename",
        project_id=project.pk,
        object_type="file",
        object_id=target.pk,
        before={"file_path": old},
        after={"file_path": new},
        old=old,
        new=new,
    )
    return target


def _move_links(source: File, target: File) -> None:
    same = {name: OuterRef(name) for name in ("memory", "relation_type")}
    taken = MemoryFile.objects.filter(file=target, **same)
    source.links.filter(~Exists(taken)).update(file=target)


@write
def sync(
    project: Project, seen: Mapping[str, str | None], caller: Caller
) -> dict[str, int]:
    """Compare files with their present hashes; None says that a file is gone.

    Links that were made against another content become suspect: shown marked,
    never hidden. Returns {"files", "changed", "gone", "suspect"}; of the links of all
    users that became so, a bound caller is told the number of those that it sees.
    """
    caller.require(Role.WRITER, project.pk)
    known = {
        file.file_path: file
        for file in File.objects.visible_to(caller)
        .filter(project=project, file_path__in=list(seen))
        .order_by("file_path")
        .select_for_update(no_key=True, of=("self",))
    }
    now = timezone.now()
    changed = [file for path, file in known.items() if _is_changed(file, seen[path])]
    gone = [file for path, file in known.items() if seen[path] is None]
    for file in [*changed, *(file for file in gone if not file.is_gone)]:
        file.changed_at = now
    for path, file in known.items():
        if (digest := seen[path]) is not None:
            file.last_content_hash = digest
            file.last_seen_at = now
    columns = ["last_content_hash", "last_seen_at", "changed_at"]
    File.objects.bulk_update(known.values(), columns, batch_size=UPDATE_BATCH)
    present = {path: digest for path, digest in seen.items() if digest is not None}
    made = ensure(project, set(present) - set(known))
    for path, file in made.items():
        file.last_content_hash = present[path]
    File.objects.bulk_update(
        made.values(), ["last_content_hash"], batch_size=UPDATE_BATCH
    )
    suspect = _mark_suspect(changed, gone)
    if caller.user_id:
        seen_by = Memory.objects.visible_to(caller)
        marked = MemoryFile.objects.filter(file__in=[*changed, *gone])
        marked = marked.filter(suspect_since__gte=now, memory__in=seen_by)
        suspect = marked.count()
    trail.record(
        caller,
        "file.sync",
        project_id=project.pk,
        object_type="project",
        object_id=project.pk,
        files=len(seen),
        suspect=suspect,
    )
    return {
        "files": len(seen),
        "changed": len(changed),
        "gone": len(gone),
        "suspect": suspect,
    }


def _is_changed(file: File, digest: str | None) -> bool:
    """Whether a known content gave way to another one, or came back."""
    if digest is None or not file.last_content_hash:
        return False
    return digest != file.last_content_hash or file.is_gone


def _mark_suspect(changed: Sequence[File], gone: Sequence[File]) -> int:
    """Mark the links to what is gone, and those that hold an earlier content."""
    is_stale = Q(file__in=changed) & ~Q(content_hash=F("file__last_content_hash"))
    links = MemoryFile.objects.filter(Q(file__in=gone) | is_stale, suspect_since=None)
    return links.update(suspect_since=timezone.now())
