"""The scoped store of requirement 000, for callers in the same process.

The operations have the names and rules of the requirement. A project and a caller take the
place of the requirement's adapter. The REST views call the same functions.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from common.caller import Caller
from memories import scopes
from memories.lifecycle import delete, derive, lookup, promote, update
from memories.models import Memory, Purge
from memories.queries import Filters
from memories.read import lineage, retrieve
from memories.retention import compact, erase
from memories.retention.compact import CompactionOptions, Summarizer
from memories.store import drafts, memory_types, write
from memories.store.drafts import Draft
from projects.models import Project

ScopeValue = Mapping[str, Any]


@dataclass(frozen=True)
class ScopedQuery:
    """The query that selects the rows of `retrieve`.

    With `include_narrower`, a read of a user's rows also covers the rows of the session
    `session_id`. A limit that is missing, zero or negative counts as 20. A fraction is
    rounded down.
    """

    scope: ScopeValue
    include_narrower: bool = False
    session_id: str = ""
    tags: Sequence[str] = ()
    since: datetime | None = None
    limit: float | None = None
    order: str = "newest"


@dataclass(frozen=True)
class ScopedStore:
    """The memories of one project, as one caller may read and write them."""

    project: Project
    caller: Caller
    # Default fields of every memory that is written, for example `source="system"`.
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def write(self, scope: ScopeValue, content: str, **fields: Any) -> Memory:
        """Store a memory and return it.

        If the text repeats an original, the returned memory is a duplicate. `fields`
        are the fields of `Draft`.
        """
        fields = drafts.read_nulls({**self.defaults, **fields})
        draft = Draft(
            **{
                "content": content,
                "memory_type": memory_types.classify(content),
                # Requirement 000 has no minimum length.
                "min_length": 1,
                **fields,
                "tags": tuple(fields.get("tags", ())),
                "scope": scopes.resolve(scope, self.project, self.caller),
            }
        )
        receipt = write.store(self.project, draft, self.caller)
        assert receipt.memory
        return receipt.memory

    def retrieve(self, query: ScopedQuery) -> list[Memory]:
        """Return the memories of a scope that have all the tags.

        Expired memories are left out.
        """
        scope = scopes.resolve(query.scope, self.project, self.caller)
        session_id = query.session_id if query.include_narrower else ""
        request = retrieve.Retrieval(
            scope=scope,
            sessions=scopes.narrower_scopes(scope, session_id),
            filters=Filters(tags=tuple(query.tags)),
            since=query.since,
            order=query.order,
        )
        rows = retrieve.read_scope(self.project, request, self.caller)
        return list(rows[: retrieve.page_size(query.limit)])

    def get(self, memory_id: uuid.UUID) -> Memory | None:
        """Return a memory by its id.

        Return None if the memory does not exist or has expired.
        """
        found = retrieve.find_memory(memory_id, self.caller)
        return found if found and found.project_id == self.project.pk else None

    def update(self, memory_id: uuid.UUID, patch: Mapping[str, Any]) -> Memory:
        """Change a memory.

        The content or the tags are replaced, metadata are merged, and the expiry is set or
        cleared.
        """
        update.refuse_immutable(patch)
        memory = lookup.get_memory(memory_id, self.caller)
        return update.update_memory(memory, patch, self.caller, None)

    def delete(self, memory_id: uuid.UUID) -> None:
        """Delete a memory.

        If the memory does not exist, nothing happens.
        """
        delete.delete_memory(memory_id, self.caller)

    def delete_by_scope(self, scope: ScopeValue) -> int:
        """Delete the memories of exactly this scope; return the number of deleted memories.

        Expired memories are deleted too.
        """
        request = scopes.resolve(scope, self.project, self.caller)
        return delete.delete_scope(self.project, request, self.caller)

    def promote(
        self,
        memory_id: uuid.UUID,
        target_scope: ScopeValue,
        *,
        delete_original: bool = False,
        content: str | None = None,
        tags: Sequence[str] | None = None,
    ) -> Memory:
        """Copy a memory into a broader scope."""
        prepared = promote.prepare(
            lookup.get_memory(memory_id, self.caller),
            scopes.resolve(target_scope, self.project, self.caller),
            self.caller,
            delete_original=delete_original,
            content=content,
            tags=tags,
        )
        derived = derive.commit(prepared, self.caller).memory
        assert derived
        return derived

    def compact(
        self,
        source_ids: Sequence[uuid.UUID],
        target_scope: ScopeValue | None,
        callback: Summarizer,
        options: CompactionOptions | None = None,
    ) -> Memory:
        """Compact memories of one scope into one memory.

        `callback` writes the text of the new memory. Without `target_scope`, the scope is
        that of the sources.
        """
        prepared = self._prepare(source_ids, target_scope, callback, options)
        derived = derive.commit(prepared, self.caller).memory
        assert derived
        return derived

    def rehearse_compaction(
        self,
        source_ids: Sequence[uuid.UUID],
        target_scope: ScopeValue | None,
        callback: Summarizer,
        options: CompactionOptions | None = None,
    ) -> Memory:
        """Return the memory that `compact` would store; nothing is stored."""
        prepared = self._prepare(source_ids, target_scope, callback, options)
        derived = derive.rehearse(prepared, self.caller, lambda made: made.memory)
        assert derived
        return derived

    def _prepare(
        self,
        source_ids: Sequence[uuid.UUID],
        target_scope: ScopeValue | None,
        callback: Summarizer,
        options: CompactionOptions | None,
    ) -> derive.Derivation:
        target = None
        if target_scope is not None:
            target = scopes.resolve(target_scope, self.project, self.caller)
        return compact.prepare(
            self.project,
            source_ids,
            target,
            callback,
            self.caller,
            options or CompactionOptions(),
        )

    def source_ids(self, memory_id: uuid.UUID) -> list[uuid.UUID]:
        """Return the ids of all memories that a memory was made from, even indirectly."""
        return lineage.source_ids(
            lookup.get_memory(memory_id, self.caller), self.caller
        )

    def purge(
        self, selection: Mapping[str, Any], *, reason: str, cascade: bool = False
    ) -> Purge:
        """Remove texts for good, in all places.

        `selection` has the form that `erase.purge` takes.
        """
        return erase.purge(
            self.project, selection, self.caller, reason=reason, cascade=cascade
        )
