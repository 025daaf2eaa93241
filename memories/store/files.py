"""Files of the code base.

The module links files to memories, renames files, and syncs the hashes of files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any

from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone

from audit import trail
from common import errors
from common.caller import Caller, Role
from common.db import write
from common.text.paths import clean_path
from memories.models import File, Memory, MemoryFile
from memories.store.drafts import FileRef
from projects.models import Project

RenameHook = Callable[[Project, str, str], None]
RemovalHook = Callable[[Project, Sequence[str], Caller], None]
UPDATE_BATCH = 500  # the number of rows in one UPDATE
# `rename` calls these functions. Apps above this one also store paths, for example the
# anchors of playbook entries.
RENAME_HOOKS: list[RenameHook] = []
# `sync` calls these functions, because rules may rest on a file that is gone.
REMOVAL_HOOKS: list[RemovalHook] = []


def on_rename(move: RenameHook) -> RenameHook:
    """Register a function that runs in the transaction of a rename.

    The function is called with the project, the old path and the new path.
    """
    RENAME_HOOKS.append(move)
    return move


def on_removal(act: RemovalHook) -> RemovalHook:
    """Register a function that runs in the transaction of a sync that attests of gone files.

    The function is called with the project, the paths that were there before, and the
    caller.
    """
    REMOVAL_HOOKS.append(act)
    return act


def ensure(project: Project, paths: Iterable[str]) -> dict[str, File]:
    """Create missing files and set when each file was last seen; return {path: file}.

    The paths are sorted and written by one statement, so that all concurrent writers lock
    the files in one order.
    """
    ordered = sorted(set(paths))
    if not ordered:
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
        for path in ordered
    ]
    File.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["project", "file_path"],
        update_fields=["last_seen_at"],
    )
    files = File.objects.filter(project=project, file_path__in=ordered)
    return {file.file_path: file for file in files}


def link(
    memory: Memory,
    refs: Sequence[FileRef],
    file_rows: Mapping[str, File],
    caller: Caller,
) -> None:
    """Link a new memory to files.

    If there are no files, cache the fact that the memory has no links.
    """
    if not refs:
        # A fact may have inherited links from a note that is now a duplicate of the fact.
        if not memory.is_keyed_fact:
            _cache_no_links(memory)
        return
    is_attested = caller.attests_in(memory.project_id)
    MemoryFile.objects.bulk_create(
        [
            MemoryFile(
                memory=memory,
                file=file_rows[ref.path],
                relation_type=ref.relation,
                line_start=ref.line_start,
                line_end=ref.line_end,
                content_hash=ref.content_hash or file_rows[ref.path].last_content_hash,
                is_attested=is_attested,
            )
            for ref in refs
        ],
        ignore_conflicts=True,
    )


def _cache_no_links(memory: Any) -> None:
    # The empty queryset is a queryset of links. If a caller filters it, a query runs as
    # usual.
    none: Any = MemoryFile.objects.none()
    none._result_cache = []
    memory._prefetched_objects_cache = {"file_links": none}


def copy_links(source: Memory, target: Memory) -> None:
    """Copy the links of `source` that `target` lacks.

    An example is the copy from a duplicate to its original.
    """
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
                is_attested=link.is_attested,
            )
            for link in source.file_links.all()
        ],
        ignore_conflicts=True,
    )


@write
def rename(project: Project, old: str, new: str, caller: Caller) -> File:
    """Move the links of a file to its new path, and remember the old path.

    Only a caller that may attest moves what was attested of a file. If another caller
    renames such a file, a file with its attested state stays at the old path. The hooks
    are not called for a caller that may not attest.
    """
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
    is_believed = caller.attests_in(project.pk)
    stays = bool(file.attested_hash) and not is_believed
    target: File | None = File.objects.filter(project=project, file_path=new).first()
    if target is None and stays:
        target = ensure(project, [new])[new]
    if target:
        _move_links(file, target)
        target.renamed_from = [*file.renamed_from, old, *target.renamed_from]
        target.first_seen_at = min(file.first_seen_at, target.first_seen_at)
        moments = [at for at in (file.changed_at, target.changed_at) if at]
        target.changed_at = max(moments, default=None)
        # A bound user knows a file by its synced content, and must know the new path too.
        target.last_content_hash = target.last_content_hash or file.last_content_hash
        if not stays:
            _join_attested(file, target)
            file.delete()
    else:
        target = file
        target.renamed_from = [*file.renamed_from, old]
        target.file_path = new
        target.file_type = PurePosixPath(new).suffix.lstrip(".").lower()[:32]
    target.last_seen_at = timezone.now()
    target.save()
    if is_believed:
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


def _join_attested(source: File, target: File) -> None:
    moments = [source.attested_change_at, target.attested_change_at]
    target.attested_change_at = max(filter(None, moments), default=None)
    target.attested_hash = target.attested_hash or source.attested_hash


def _move_links(source: File, target: File) -> None:
    same = {name: OuterRef(name) for name in ("memory", "relation_type")}
    taken = MemoryFile.objects.filter(file=target, **same)
    source.links.filter(~Exists(taken)).update(file=target)


@write
def sync(
    project: Project, hashes: Mapping[str, str | None], caller: Caller
) -> dict[str, int | bool]:
    """Compare files with their present hashes.

    A hash of None says that the file is gone. Links to an earlier content become suspect
    but stay visible. Return a dict with the numbers "files", "changed", "gone" and
    "suspect". For a bound caller, "suspect" counts only links that the caller can see.
    "attested" says whether the caller may attest: if not, no entry becomes suspect.
    """
    caller.require(Role.WRITER, project.pk)
    known = {
        file.file_path: file
        for file in File.objects.visible_to(caller)
        .filter(project=project, file_path__in=list(hashes))
        .order_by("file_path")
        .select_for_update(no_key=True, of=("self",))
    }
    now = timezone.now()
    changed = [file for path, file in known.items() if _is_changed(file, hashes[path])]
    missing = [file for path, file in known.items() if hashes[path] is None]
    for file in [*changed, *(file for file in missing if not file.is_gone)]:
        file.changed_at = now
    for path, file in known.items():
        if (digest := hashes[path]) is not None:
            file.last_content_hash = digest
            file.last_seen_at = now
    present = {path: digest for path, digest in hashes.items() if digest is not None}
    created = ensure(project, set(present) - set(known))
    for path, file in created.items():
        file.last_content_hash = present[path]
    is_believed = caller.attests_in(project.pk)
    if is_believed:
        for path, file in {**known, **created}.items():
            _attest(file, hashes[path], now)
    attested = ["attested_hash", "attested_change_at"] if is_believed else []
    columns = ["last_content_hash", "last_seen_at", "changed_at", *attested]
    File.objects.bulk_update(known.values(), columns, batch_size=UPDATE_BATCH)
    File.objects.bulk_update(
        created.values(), ["last_content_hash", *attested], batch_size=UPDATE_BATCH
    )
    gone = [f.file_path for f in missing if is_believed and f.attested_change_at == now]
    for act in REMOVAL_HOOKS if gone else ():
        act(project, gone, caller)
    suspect = _mark_suspect(changed, missing)
    if caller.user_id:
        visible = Memory.objects.visible_to(caller)
        marked = MemoryFile.objects.filter(file__in=[*changed, *missing])
        marked = marked.filter(suspect_since__gte=now, memory__in=visible)
        suspect = marked.count()
    trail.record(
        caller,
        "file.sync",
        project_id=project.pk,
        object_type="project",
        object_id=project.pk,
        files=len(hashes),
        suspect=suspect,
    )
    return {
        "files": len(hashes),
        "changed": len(changed),
        "gone": len(missing),
        "suspect": suspect,
        "attested": is_believed,
    }


def _attest(file: File, digest: str | None, now: datetime) -> None:
    """Store an attested report; the first hash of a file is no change."""
    state = digest or File.GONE
    if state != file.attested_hash and (file.attested_hash or digest is None):
        file.attested_change_at = now
    file.attested_hash = state


def _is_changed(file: File, digest: str | None) -> bool:
    """Whether a file has a new hash, or is back after it was gone."""
    if digest is None or not file.last_content_hash:
        return False
    return digest != file.last_content_hash or file.is_gone


def _mark_suspect(changed: Sequence[File], missing: Sequence[File]) -> int:
    """Mark the suspect links and return their number.

    A link is suspect if its file is gone, or if the link was made to an earlier content.
    """
    is_stale = Q(file__in=changed) & ~Q(content_hash=F("file__last_content_hash"))
    links = MemoryFile.objects.filter(
        Q(file__in=missing) | is_stale, suspect_since=None
    )
    return links.update(suspect_since=timezone.now())
