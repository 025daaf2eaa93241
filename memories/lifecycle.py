"""What happens to a memory after it was stored: changed, left, came back, confirmed."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.db.models import OuterRef, Subquery
from django.utils import timezone

from common import errors
from common.caller import Caller, Role
from common.db import write
from common.erasure import redaction
from inference.embedding.vector import Vector
from memories import (
    drafts,
    duplicates,
    files,
    history,
    indexing,
    places,
    tags,
    vectors,
)
from memories.drafts import Draft, FileRef
from memories.models import File, Memory, MemoryChange, MemoryFile
from memories.queries import PRIVATE_SCOPES
from projects import search_language
from projects.models import Project

# What PATCH may change; everything else is fixed when the memory is made.
MUTABLE = [
    "memory_type",
    "title",
    "value",
    "content",
    "goal",
    "result",
    "feedback",
    "tool_usage",
    "steps",
    "outcome",
    "lessons",
    "tags",
    "metadata",
    "sensitivity",
    "confidence",
    "occurred_at",
    "expires_at",
    "file_paths",
]


def get(memory_id: uuid.UUID, caller: Caller, role: Role = Role.VIEWER) -> Memory:
    """A readable memory in whose project the caller has the role, or a refusal."""
    memory = Memory.objects.visible_to(caller).readable().filter(pk=memory_id).first()
    if memory is None:
        raise _not_found(memory_id)
    caller.require(role, memory.project_id)
    found: Memory = memory
    return found


def _not_found(memory_id: uuid.UUID) -> errors.NotFound:
    return errors.NotFound(f"There is no memory {memory_id}, or it has expired.")


def project_of(memory_id: uuid.UUID, caller: Caller) -> uuid.UUID | None:
    """The project of a memory that the caller may see, whether it is deleted or not."""
    rows = Memory.objects.visible_to(caller).filter(pk=memory_id)
    return rows.values_list("project_id", flat=True).first()


def update(
    memory: Memory, changes: Mapping[str, Any], caller: Caller, version: int | None
) -> Memory:
    """Change fields; a changed text is hashed, indexed, embedded and compared anew.

    Tags are replaced, metadata is merged shallowly, `expires_at: None` clears.
    """
    caller.require(Role.WRITER, memory.project_id)
    refuse_immutable(changes)
    masked = _masked(memory, changes)
    text = Draft(
        content=masked.get("content", memory.content),
        title=masked.get("title", memory.title),
    ).embedded_text
    embedded: dict[str, Vector] = {}
    if text != memory.text:
        made, _ = vectors.embed_or_none([text])
        embedded = {text: made[0]} if made else {}
    return _update(memory, masked, embedded, caller, version)


def refuse_immutable(changes: Mapping[str, Any]) -> None:
    fixed = sorted(set(changes) - set(MUTABLE))
    if fixed:
        raise errors.ImmutableField(
            f"{', '.join(fixed)} cannot be changed; store a new memory instead.",
            errors={name: ["This field cannot be changed."] for name in fixed},
        )


def _masked(memory: Memory, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The changes with secrets treated as the project says, and its minimum length.

    What is not changed stays as it is, whatever stands there.
    """
    project = memory.project
    changed = dict(changes)
    names = [name for name in drafts.TEXTS + drafts.TREES if name in changed]
    draft = Draft(content="", kind=memory.kind, agent_id=memory.agent_id)
    draft = replace(draft, **{name: changed[name] for name in names})
    if "tags" in changed:
        draft = replace(draft, tags=tuple(changed["tags"]))
    if "content" in changed:
        drafts.refuse_short(project, draft)
    guarded = drafts.guard_secrets(project.options.secrets, draft)
    masked = {name: getattr(guarded, name) for name in names}
    if "tags" in changed:
        masked["tags"] = list(guarded.tags)
    return changed | masked


@write
def _update(
    memory: Memory,
    changes: dict[str, Any],
    embedded: Mapping[str, Vector],
    caller: Caller,
    version: int | None,
) -> Memory:
    """`embedded` are vectors by their text: another's change may have made it another."""
    changes = dict(changes)  # a repeated attempt needs what is taken out here
    language = search_language.pin_language(memory.project_id)
    memory = hold_undeleted(memory, version)
    before, text, hashed = history.state(memory), memory.text, memory.similarity_hash
    place = _place(memory)
    paths = changes.pop("file_paths", None)
    if "metadata" in changes:
        changes["metadata"] = {**memory.metadata, **changes["metadata"]}
    if "tags" in changes:
        changes["tags"] = list(dict.fromkeys(changes["tags"]))
        tags.ensure(memory.project, changes["tags"])
    for name, value in changes.items():
        setattr(memory, name, value)
    is_relinked = paths is not None and _relink(memory, paths)
    if not is_relinked and history.state(memory) == before:
        return memory
    indexing.fill(memory, language)
    if memory.similarity_hash != hashed:
        # What was made of others is never marked a duplicate.
        memory.kept_apart = bool(memory.promoted_from or memory.compacted_from)
    has_moved = _place(memory) != place
    if memory.is_duplicate and not has_moved:
        memory.version += 1
        memory.save()
    else:
        places.place(memory)
    if has_moved:
        places.reelect(memory, caller)
    action = MemoryChange.Action.UPDATE
    history.record(caller, action, memory, before=before)
    if memory.text != text:
        _embed_anew(memory, embedded.get(memory.text))
    elif has_moved:
        places.embed_if_missing(memory)
    return memory


def _place(memory: Memory) -> tuple[Any, ...]:
    """What a duplicate has in common with its original, of what can change."""
    value = memory.value if memory.is_keyed_fact else None
    return memory.similarity_hash, memory.sensitivity, value


def _embed_anew(memory: Memory, vector: Vector | None) -> None:
    memory.vectors.all().delete()
    if vector:
        vectors.put([(memory, vector)])
        duplicates.compare(memory, vector)
    else:
        vectors.embed_later(memory.project_id)


def _relink(memory: Memory, paths: list[str]) -> bool:
    """Make the plain references of a memory these; what tools did stays.

    Tells whether they were others.
    """
    refs = drafts.one_per_relation(map(FileRef, paths))
    known = files.ensure(memory.project, (ref.path for ref in refs))
    gone = memory.file_links.filter(relation_type=MemoryFile.Relation.REFERENCED)
    left, _ = gone.exclude(file__in=known.values()).delete()
    linked = set(memory.file_links.values_list("file__file_path", flat=True))
    new = [ref for ref in refs if ref.path not in linked]
    if new:
        files.link(memory, new, known)
    return bool(left or new)


def hold(memory: Memory, version: int | None = None) -> Memory:
    """Lock a memory until the transaction ends; refuse a version that is not its own."""
    held = Memory.objects.select_for_update(no_key=True).filter(pk=memory.pk).first()
    if held is None:
        raise errors.NotFound
    if held.deleted_at and redaction.is_redacted(held.content):
        raise errors.NotFound(f"Memory {memory.pk} was purged; its text is gone.")
    if version is not None and held.version != version:
        raise errors.StaleVersion(current_version=held.version)
    found: Memory = held
    return found


def hold_undeleted(memory: Memory, version: int | None = None) -> Memory:
    """The same, of one that nobody has deleted since it was read."""
    held = hold(memory, version)
    if held.deleted_at:
        raise _not_found(memory.pk)
    return held


@write
def delete(memory_id: uuid.UUID, caller: Caller, *, reason: str = "") -> bool:
    """Delete softly; tells whether there was something to delete.

    An unknown, invisible or deleted id is no error: deleting is idempotent.
    """
    memory = Memory.objects.visible_to(caller).readable().filter(pk=memory_id).first()
    if memory is None:
        return False
    caller.require(Role.WRITER, memory.project_id)
    try:
        held = hold_undeleted(memory)
    except errors.NotFound:
        return False
    leave(held, caller, reason)
    return True


@write
def delete_scope(project: Project, scope_hash: str, caller: Caller) -> int:
    """Delete every row of exactly this scope, expired ones too; returns how many."""
    caller.require(Role.CURATOR, project.pk)
    rows = (
        Memory.objects.visible_to(caller)
        .filter(project=project, scope_hash=scope_hash, deleted_at=None)
        .order_by("pk")
        .light()
    )
    count, derived = 0, []
    held = rows.select_for_update(no_key=True, of=("self",))
    for memory in held.iterator(chunk_size=500):
        leave(memory, caller, "its scope was deleted", elect=False)
        count += 1
        if memory.promoted_from or memory.compacted_from:
            derived.append(memory.pk)
    # What they were made of may have copies in another scope.
    for memory in Memory.objects.filter(pk__in=derived).light().order_by("pk"):
        places.vacate(memory, caller)
    return count


def leave(
    memory: Memory,
    caller: Caller,
    reason: str,
    *,
    elect: bool = True,
    retired_into: Memory | None = None,
) -> None:
    """Delete a memory that is held; an heir among its duplicates takes its place."""
    before = history.state(memory)
    memory.deleted_at = timezone.now()
    memory.deleted_by = caller.name[:200]
    memory.delete_reason = reason[:500]
    memory.retired_into = retired_into.pk if retired_into else None
    memory.version += 1
    memory.save()
    action = MemoryChange.Action.DELETE
    history.record(caller, action, memory, before=before, reason=reason)
    if elect:
        places.vacate(memory, caller)


class NotDeleted(errors.StateConflict):
    """This memory is neither deleted, nor archived before its expiry, nor superseded by
    one that has left."""

    code = "not_deleted"


@write
def restore(memory_id: uuid.UUID, caller: Caller) -> Memory:
    """Bring a memory back; when its place was taken, as a duplicate.

    One that was archived and then deleted is archived again.
    """
    memory = Memory.objects.visible_to(caller).filter(pk=memory_id).first()
    if memory is None:
        raise errors.NotFound
    caller.require(Role.WRITER, memory.project_id)
    memory = hold(memory)
    if not is_restorable(memory):
        raise NotDeleted
    before = history.state(memory)
    if memory.deleted_at:
        memory.deleted_at = None
        memory.deleted_by = memory.delete_reason = ""
        memory.retired_into = None
    else:
        memory.archived_at = None
    if memory.superseded_by and memory.superseded_by.has_left:
        memory.superseded_by = None
    places.place(memory)
    if memory.is_duplicate:
        # It left without an heir: what points to it goes on to its original.
        copies = Memory.objects.filter(duplicate_of=memory)
        copies.update(duplicate_of=memory.duplicate_of)
    history.record(caller, MemoryChange.Action.RESTORE, memory, before=before)
    vectors.embed_later(memory.project_id)
    return memory


def is_restorable(memory: Memory) -> bool:
    """Whether it was deleted, archived for another reason than its expiry, or
    superseded by one that has left."""
    return bool(
        memory.deleted_at
        or (memory.archived_at and not memory.is_expired)
        or (memory.superseded_by and memory.superseded_by.has_left)
    )


@write
def verify(memory: Memory, caller: Caller, *, note: str = "") -> Memory:
    """Say that a memory still holds; its file links are suspect no more."""
    caller.require(Role.WRITER, memory.project_id)
    memory = hold_undeleted(memory)
    before = history.state(memory)
    memory.verified_at = timezone.now()
    memory.version += 1
    memory.save(update_fields=["verified_at", "version", "updated_at"])
    present = File.objects.filter(pk=OuterRef("file_id")).values("last_content_hash")
    memory.file_links.update(suspect_since=None, content_hash=Subquery(present))
    action = MemoryChange.Action.VERIFY
    history.record(caller, action, memory, before=before, reason=note)
    return memory


@write
def supersede(memory: Memory, by: Memory, caller: Caller, *, note: str = "") -> Memory:
    """Replace a memory by a newer one; it stays readable by its id."""
    caller.require(Role.WRITER, memory.project_id)
    if by.pk == memory.pk or by.project_id != memory.project_id:
        raise errors.Invalid(
            "A memory is superseded by another one of its project.",
            errors={"by": ["Name another memory of the same project."]},
        )
    if by.scope_kind in PRIVATE_SCOPES and by.scope_hash != memory.scope_hash:
        raise errors.Invalid(
            "A memory that others read is not superseded by a private one.",
            errors={"by": ["Name a memory of the same scope, or of a shared one."]},
        )
    # Both, or two requests could make a circle.
    both = sorted((memory, by), key=lambda row: row.pk)
    held = {row.pk: hold_undeleted(row) for row in both}
    memory, by = held[memory.pk], held[by.pk]
    if memory.pk in _successors(by):
        raise errors.StateConflict("That memory is superseded by this one already.")
    if memory.superseded_by_id == by.pk:
        return memory
    if not Memory.objects.current().filter(pk=by.pk).exists():
        raise errors.StateConflict(
            f"Memory {by.pk} is not current itself. Name the one that is: its original, "
            "or what superseded it."
        )
    before = history.state(memory)
    memory.superseded_by = by
    memory.version += 1
    memory.save(update_fields=["superseded_by", "version", "updated_at"])
    action = MemoryChange.Action.SUPERSEDE
    history.record(caller, action, memory, before=before, reason=note)
    places.reelect(memory, caller)
    return memory


def _successors(memory: Memory) -> set[uuid.UUID]:
    """What supersedes a memory, step by step."""
    seen: set[uuid.UUID] = set()
    while memory.superseded_by and memory.pk not in seen:
        seen.add(memory.superseded_by.pk)
        memory = memory.superseded_by
    return seen


EXPIRED_AT_ONCE = 500  # rows looked up together; each goes by itself


def archive_expired(caller: Caller, project: Project | None = None) -> int:
    """Archive what expired, of one project or of all; it was hidden from the moment it did."""
    expired = Memory.objects.filter(
        expires_at__lt=timezone.now(), archived_at=None, deleted_at=None
    )
    rows = expired.filter(project=project) if project else expired
    ids = rows.order_by("pk").values_list("pk", flat=True)
    count, last = 0, uuid.UUID(int=0)
    while chosen := list(ids.filter(pk__gt=last)[:EXPIRED_AT_ONCE]):
        last = chosen[-1]
        count += sum(_archive(memory_id, caller) for memory_id in chosen)
    return count


@write
def _archive(memory_id: uuid.UUID, caller: Caller) -> bool:
    memory = (
        Memory.objects.select_for_update(no_key=True)
        .filter(pk=memory_id, expires_at__lt=timezone.now(), archived_at=None)
        .first()
    )
    if memory is None:
        return False
    places.archive(memory, caller, reason="expired")
    return True
