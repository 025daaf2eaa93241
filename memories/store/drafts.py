"""A draft is a memory that is not stored yet.

The module also builds the row of a draft.
"""

from __future__ import annotations

import functools
import hashlib
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from common.text.paths import clean_path
from memories import searchable_text
from memories.models import Memory
from memories.scopes import Scope
from memories.store import search_columns
from projects.models import Project

# The maximum lengths are in characters and are listed in docs/limits.md.
MAX_CONTENT, MAX_PART, MAX_TITLE, MAX_TAG = 50_000, 20_000, 500, 64
TEXT_FIELDS = ("title", "content", "goal", "result", "feedback", "outcome", "lessons")
SEARCHED_FIELDS = frozenset(
    (*searchable_text.FIRST_FIELDS, *searchable_text.FURTHER_FIELDS)
)
JSON_FIELDS = ("value", "tool_usage", "steps", "metadata", "provenance", "compaction")


# The fields that can be empty, with their empty values.
EMPTY_VALUES: dict[str, Any] = {
    **dict.fromkeys(("title", "goal", "result", "feedback", "outcome", "lessons"), ""),
    **dict.fromkeys(("value", "confidence", "occurred_at", "expires_at")),
}


def read_nulls(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a memory as they are meant if some are null.

    Null empties a field that can be empty. Elsewhere, it means the same as leaving the
    field out.
    """
    return {
        name: EMPTY_VALUES[name] if value is None else value
        for name, value in fields.items()
        if value is not None or name in EMPTY_VALUES
    }


@dataclass(frozen=True)
class FileRef:
    path: str
    relation: str = "referenced"
    line_start: int | None = None
    line_end: int | None = None
    content_hash: str = ""


@dataclass(frozen=True)
class Draft:
    """A memory in the form that a caller sends.

    Serializers check the lengths of the texts (docs/limits.md).
    """

    content: str
    memory_type: str = ""
    agent_id: str = ""
    user_id: str = ""
    kind: str = "note"
    title: str = ""
    key: str = ""
    value: Any = None
    goal: str = ""
    result: str = ""
    feedback: str = ""
    tool_usage: list[Any] = field(default_factory=list)
    steps: list[Any] = field(default_factory=list)
    outcome: str = ""
    lessons: str = ""
    tags: tuple[str, ...] = ()
    files: tuple[FileRef, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    scope: Scope | None = None
    sensitivity: str = "private"
    confidence: float | None = None
    source: str = "agent"
    created_in_session_id: str = ""
    provenance: dict[str, Any] = field(default_factory=dict)
    occurred_at: datetime | None = None
    expires_at: datetime | None = None
    # These fields are set if the memory is made from others. Such a memory is never a
    # duplicate.
    promoted_from: uuid.UUID | None = None
    compacted_from: tuple[uuid.UUID, ...] = ()
    compaction: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    # The minimum length of the content. None means the minimum of the project's settings.
    min_length: int | None = None
    # If true and a quota is full, the memory is archived instead of refused.
    is_kept_over_quota: bool = False

    @functools.cached_property
    def similarity_hash(self) -> str:
        return searchable_text.similarity_hash(self)

    @property
    def lock_key(self) -> tuple[str, str]:
        """Return the sort key by which every writer orders its inserts, and so its locks.

        Memories that have a key are sorted by this key, and facts come before other
        memories. Facts that share a key keep the order of the batch, so the last fact
        becomes the current one.
        """
        if not self.key:
            return self.similarity_hash, ""
        assert self.scope
        of_key = hashlib.sha256(f"{self.scope.hash} {self.key}".encode()).hexdigest()
        return of_key, "" if self.kind == "fact" else self.similarity_hash

    @property
    def is_derived(self) -> bool:
        return bool(self.promoted_from or self.compacted_from)

    @property
    def embedded_text(self) -> str:
        return searchable_text.whole_text(self)


def unique_refs(files: Iterable[FileRef]) -> tuple[FileRef, ...]:
    """Clean the paths. Keep one reference for each pair of file and relation."""
    cleaned = (replace(ref, path=clean_path(ref.path)) for ref in files)
    return tuple(
        {(ref.path, ref.relation): ref for ref in cleaned if ref.path}.values()
    )


COPIED_FIELDS = [
    "agent_id",
    "user_id",
    "memory_type",
    "kind",
    "title",
    "key",
    "value",
    "content",
    "goal",
    "result",
    "feedback",
    "tool_usage",
    "steps",
    "outcome",
    "lessons",
    "metadata",
    "sensitivity",
    "confidence",
    "source",
    "created_in_session_id",
    "provenance",
    "occurred_at",
    "expires_at",
    "promoted_from",
    "compaction",
]


def build(project: Project, draft: Draft, language: str) -> Memory:
    """Build an unsaved memory.

    The columns that are computed from the text are set too.
    """
    assert draft.scope
    memory = Memory(
        project=project,
        organization_id=project.organization_id,
        tags=list(draft.tags),
        compacted_from=list(draft.compacted_from),
        kept_apart=draft.is_derived,
        **draft.scope.columns,
        **{name: getattr(draft, name) for name in COPIED_FIELDS},
    )
    search_columns.fill(memory, language)
    return memory
