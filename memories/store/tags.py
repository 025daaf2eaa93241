"""Tags of a project.

The module creates, renames, merges and deletes a tag in every memory that has the tag.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from django.db.models import Case, Q, When
from django.db.models.functions import Lower

from audit import trail
from common import errors
from common.caller import Caller, Role
from common.db import write
from common.text.normalise import normalise
from memories.models import Memory, MemoryChange, Tag
from memories.store import history, search_columns
from projects import search_language
from projects.models import Project


class TagExists(errors.StateConflict):
    """The project has a tag of this name already; merge the two instead."""

    code = "tag_exists"


def ensure(project: Project, names: Iterable[str]) -> None:
    """Create the tags that are missing; refuse an empty name.

    The names are sorted, so that all writers lock them in one order.
    """
    unique = sorted(set(names))
    if "" in unique:
        raise errors.Invalid(errors={"tags": ["A tag may not be empty."]})
    Tag.objects.bulk_create(
        [Tag(project=project, name=name) for name in unique],
        ignore_conflicts=True,
    )


def spell(project: Project, names: Iterable[str]) -> dict[str, str]:
    """Return {name: the tag of the project}; the first spelling of a name is the tag."""
    new: dict[str, str] = {}
    return {
        name: known[0]
        if known
        else new.setdefault(_key_of(project, name), normalise(name, "NFC"))
        for name, known in _find_known(project, names).items()
    }


def find_spellings(project: Project, names: Iterable[str]) -> list[list[str]]:
    """Return, for a filter, each name with the tags of the project that are this name."""
    return [[name, *known] for name, known in _find_known(project, names).items()]


def _find_known(project: Project, names: Iterable[str]) -> dict[str, list[str]]:
    """Return {name: the tags of the project that are this name}, the oldest first."""
    keys = {name: _key_of(project, name) for name in names}
    if not keys:
        return {}
    rows = Tag.objects.filter(project=project).alias(low=Lower("name")).order_by("pk")
    rows = rows.filter(low__in={key.lower() for key in keys.values()})
    known = defaultdict[str, list[str]](list)
    for name in rows.values_list("name", flat=True):
        known[_key_of(project, name)].append(name)
    return {name: known.get(key, []) for name, key in keys.items()}


def _key_of(project: Project, name: str) -> str:
    name = normalise(name, "NFC")
    return name if project.options.tags_by_case else name.lower()


@write
def create(project: Project, caller: Caller, **fields: str) -> Tag:
    """Create a tag that every user of the project sees.

    If a tag of this name exists that the caller cannot see, that tag gets the fields.
    """
    caller.require(Role.WRITER, project.pk)
    name = spell(project, [fields["name"]])[fields.pop("name")]
    tag, is_new = Tag.objects.get_or_create(project=project, name=name, defaults=fields)
    if not is_new:
        _refuse_visible(tag, caller)
        for field, value in fields.items():
            setattr(tag, field, value)
        tag.save()
    _record(caller, "tag.create", tag)
    return tag


@write
def update(tag: Tag, caller: Caller, changes: dict[str, str]) -> Tag:
    """Change a tag.

    A new name replaces the old name in every memory. If memories that the caller cannot see
    have the tag, the old name stays in these memories, and the new name becomes a second
    tag.
    """
    caller.require(Role.CURATOR, tag.project_id)
    tag = Tag.objects.select_for_update().get(pk=tag.pk)
    old = tag.name
    name = changes.get("name", old)
    if name != old:
        [same] = find_spellings(tag.project, [name])
        rows = Tag.objects.filter(project=tag.project_id, name__in=same)
        namesake = rows.exclude(pk=tag.pk).first()
        if namesake:
            _refuse_visible(namesake, caller)
        _replace_in_memories(tag, name, caller)
        tag = _row_of_new_name(tag, namesake)
    for field, value in changes.items():
        setattr(tag, field, value)
    tag.save()
    _record(caller, "tag.update", tag, old=old)
    return tag


@write
def merge(tag: Tag, into: Tag, caller: Caller) -> Tag:
    """Replace a tag with another tag in every memory, and delete the replaced tag.

    The replaced tag stays if memories that the caller cannot see have it.
    """
    caller.require(Role.CURATOR, tag.project_id)
    if tag.pk == into.pk or tag.project_id != into.project_id:
        raise errors.Invalid("A tag is merged into another one of the same project.")
    changed = _replace_in_memories(tag, into.name, caller)
    _record(caller, "tag.merge", tag, into=into.name, memories=changed)
    _delete_unused(tag)
    return into


@write
def delete(tag: Tag, caller: Caller) -> None:
    """Delete a tag, and remove its name from every memory.

    The tag stays if memories that the caller cannot see have it.
    """
    caller.require(Role.CURATOR, tag.project_id)
    changed = _replace_in_memories(tag, None, caller)
    _record(caller, "tag.delete", tag, memories=changed)
    _delete_unused(tag)


def _replace_in_memories(tag: Tag, name: str | None, caller: Caller) -> int:
    language = search_language.pin_language(tag.project_id)
    rows = (
        Memory.objects.visible_to(caller)
        .select_for_update(no_key=True, of=("self",))
        .filter(project_id=tag.project_id, tags__contains=[tag.name])
        .order_by("pk")
        .light()
    )
    changed = 0
    for memory in rows.iterator(chunk_size=500):
        before = history.snapshot(memory)
        renamed = (name if each == tag.name else each for each in memory.tags)
        memory.tags = [each for each in dict.fromkeys(renamed) if each]
        memory.version += 1
        search_columns.fill(memory, language)
        memory.save(update_fields=["tags", "version", "updated_at", "content_tsv"])
        action = MemoryChange.Action.UPDATE
        reason = f"tag {tag.name} → {name or 'removed'}"
        history.record(caller, action, memory, before=before, reason=reason)
        changed += 1
    return changed


def _row_of_new_name(tag: Tag, namesake: Tag | None) -> Tag:
    """Return the row that gets the new name of a tag.

    This is the row of the tag itself, unless the tag must stay or the name is taken.
    """
    if namesake is None and not _is_used(tag):
        return tag
    row = namesake or Tag(project_id=tag.project_id)
    row.description, row.category = tag.description, tag.category
    _delete_unused(tag)
    return row


def _refuse_visible(tag: Tag, caller: Caller) -> None:
    """Refuse a name only if the caller can see the tag of that name.

    A refusal must not reveal the tags of other users.
    """
    if Tag.objects.visible_to(caller).filter(pk=tag.pk).exists():
        raise TagExists


def _delete_unused(tag: Tag) -> None:
    """Delete a tag, unless memories still have it.

    The caller cannot see these memories.
    """
    if not _is_used(tag):
        tag.delete()


def _is_used(tag: Tag) -> bool:
    rows = Memory.objects.filter(project_id=tag.project_id, tags__contains=[tag.name])
    return rows.exists()


def _record(caller: Caller, verb: str, tag: Tag, **detail: Any) -> None:
    trail.record(
        caller,
        verb,
        project_id=tag.project_id,
        object_type="tag",
        object_id=tag.pk,
        after={"name": tag.name, "description": tag.description},
        name=tag.name,
        **detail,
    )


def find_tag(project_id: uuid.UUID, name_or_id: str, caller: Caller) -> Tag:
    """Find a visible tag of a project by its name or its id."""
    rows = Tag.objects.visible_to(caller).filter(project_id=project_id)
    same = Q(name=name_or_id) | Q(name__iexact=name_or_id)
    row = (
        rows.filter(same)
        .order_by(Case(When(name=name_or_id, then=0), default=1))
        .first()
    )
    if row is None:
        try:
            row = rows.filter(pk=uuid.UUID(name_or_id)).first()
        except ValueError:
            row = None
    if row is None:
        raise errors.NotFound(f"The project has no tag {name_or_id!r}.")
    tag: Tag = row
    return tag
