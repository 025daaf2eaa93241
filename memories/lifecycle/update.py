"""Change the fields of a memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

from common import errors
from common.caller import Caller, Role
from common.db import write
from inference.embedding.vector import Vector
from memories.duplicates import mark
from memories.lifecycle.lookup import lock_undeleted
from memories.models import Memory, MemoryChange, MemoryFile
from memories.store import (
    claimed_source,
    draft_checks,
    drafts,
    files,
    history,
    originals,
    search_columns,
    secret_policy,
    tags,
    vectors,
)
from memories.store.drafts import Draft, FileRef
from projects import search_language

# The fields that PATCH may change. All other fields are fixed when the memory is stored.
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


@dataclass(frozen=True)
class CheckedChange:
    """A change of a memory that is checked and embedded, and not yet written.

    `embedded` maps texts to vectors. If a concurrent change leads to another text,
    `embedded` has no vector for that text.
    """

    memory: Memory
    fields: Mapping[str, Any]
    embedded: Mapping[str, Vector]


def update_memory(
    memory: Memory,
    changes: Mapping[str, Any],
    caller: Caller,
    version: int | None,
) -> Memory:
    """Change fields of a memory.

    A changed text is hashed, indexed, embedded and compared anew. `tags` replaces all tags.
    `metadata` is merged into the old metadata, at the top level only. `drafts.read_nulls`
    says what None means; for example, `expires_at: None` removes the expiry.
    """
    return commit(prepare(memory, changes, caller), caller, version)


def prepare(
    memory: Memory, changes: Mapping[str, Any], caller: Caller
) -> CheckedChange:
    """Check, mask and embed a change; this is the slow part, before the transaction."""
    caller.require(Role.WRITER, memory.project_id)
    refuse_immutable(changes)
    changes = drafts.read_nulls(changes)
    masked = _guard_changes(memory, changes)
    changed = copy(memory)
    for name in drafts.SEARCHED_FIELDS & masked.keys():
        setattr(changed, name, masked[name])
    embedded: dict[str, Vector] = {}
    if changed.text != memory.text:
        (new,) = vectors.embed_short([changed.text])
        embedded = {changed.text: new.vector} if new.vector else {}
    return CheckedChange(memory, masked, embedded)


def refuse_immutable(names: Iterable[str]) -> None:
    fixed = sorted(set(names) - set(MUTABLE))
    if fixed:
        raise errors.ImmutableField(
            f"{', '.join(fixed)} cannot be changed; store a new memory instead.",
            errors={name: ["This field cannot be changed."] for name in fixed},
        )


def _guard_changes(memory: Memory, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Apply the project's rules on secrets and length to the changed fields only.

    A secret in an unchanged field does not prevent changes of other fields.
    """
    project = memory.project
    changed = dict(changes)
    names = [
        name for name in drafts.TEXT_FIELDS + drafts.JSON_FIELDS if name in changed
    ]
    draft = Draft(content="", kind=memory.kind, agent_id=memory.agent_id)
    draft = replace(draft, **{name: changed[name] for name in names})
    if "tags" in changed:
        spelled = tags.spell(project, changed["tags"])
        draft = replace(draft, tags=tuple(spelled[tag] for tag in changed["tags"]))
    paths = changed.get("file_paths") or []
    draft = replace(draft, files=tuple(map(FileRef, paths)))
    if "content" in changed:
        draft_checks.refuse_short(project, draft)
    guarded = secret_policy.guard_draft(project.options.secrets, draft)
    masked = {name: getattr(guarded, name) for name in names}
    if "tags" in changed:
        masked["tags"] = list(guarded.tags)
    if paths:
        masked["file_paths"] = [ref.path for ref in guarded.files]
    return changed | masked


@write
def commit(change: CheckedChange, caller: Caller, version: int | None) -> Memory:
    """Write a change; a `version` that is not the memory's refuses it."""
    changes = dict(change.fields)  # a retry needs the keys popped below
    language = search_language.pin_language(change.memory.project_id)
    memory = lock_undeleted(change.memory, version)
    before, text, hashed = history.snapshot(memory), memory.text, memory.similarity_hash
    identity = _identity(memory)
    paths = changes.pop("file_paths", None)
    if "metadata" in changes:
        changes["metadata"] = {**memory.metadata, **changes["metadata"]}
    if "tags" in changes:
        changes["tags"] = list(dict.fromkeys(changes["tags"]))
        tags.ensure(memory.project, changes["tags"])
    note = _check_source(memory, changes, caller)
    for name, value in changes.items():
        setattr(memory, name, value)
    is_relinked = paths is not None and _relink_files(memory, paths, caller)
    if not is_relinked and history.snapshot(memory) == before:
        return memory
    search_columns.fill(memory, language)
    if memory.similarity_hash != hashed:
        # A memory that was made from others is never marked as a duplicate.
        memory.kept_apart = memory.is_derived
    has_moved = _identity(memory) != identity
    if memory.is_duplicate and not has_moved:
        memory.version += 1
        memory.save()
    else:
        originals.assign(memory)
    if has_moved:
        originals.promote_successor(memory, caller)
    action = MemoryChange.Action.UPDATE
    history.record(caller, action, memory, before=before, reason=note)
    if memory.text != text:
        _replace_vector(memory, change.embedded.get(memory.text))
    elif has_moved:
        originals.embed_if_missing(memory)
    return memory


def _check_source(memory: Memory, changes: dict[str, Any], caller: Caller) -> str:
    """Make a changed text the agent's if the caller may not claim the memory's source.

    Return the reason that the history names.
    """
    names = {*drafts.TEXT_FIELDS, *drafts.JSON_FIELDS} - {"metadata"}
    is_changed = any(
        name in changes and changes[name] != getattr(memory, name) for name in names
    )
    claimed = memory.source
    if not is_changed or claimed_source.may_claim(claimed, memory.project_id, caller):
        return ""
    changes["source"] = Memory.Source.AGENT
    return claimed_source.note_of(claimed)


def _identity(memory: Memory) -> tuple[Any, ...]:
    """Return the columns that can change and that a duplicate shares with its original."""
    value = memory.value if memory.is_keyed_fact else None
    return memory.similarity_hash, memory.sensitivity, value


def _replace_vector(memory: Memory, vector: Vector | None) -> None:
    memory.vectors.all().delete()
    if vector:
        vectors.put([(memory, [vector])])
        mark.check(memory, [vector])
    else:
        vectors.embed_later(memory.project_id)


def _relink_files(memory: Memory, paths: list[str], caller: Caller) -> bool:
    """Replace the plain file references of a memory; return whether anything changed.

    Links with another relation, such as those of tools, stay.
    """
    refs = drafts.unique_refs(map(FileRef, paths))
    file_rows = files.ensure(memory.project, (ref.path for ref in refs))
    plain = memory.file_links.filter(relation_type=MemoryFile.Relation.REFERENCED)
    removed, _ = plain.exclude(file__in=file_rows.values()).delete()
    linked = set(memory.file_links.values_list("file__file_path", flat=True))
    new = [ref for ref in refs if ref.path not in linked]
    if new:
        files.link(memory, new, file_rows, caller)
    return bool(removed or new)
