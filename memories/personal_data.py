"""Register the data of memories that a purge removes.

The data are texts, vectors, pairs, unlinked files and unused tags.
"""

from __future__ import annotations

import uuid
from collections.abc import Set
from itertools import chain
from typing import Any

from django.contrib.admin.models import LogEntry
from django.db.models import Exists, F, Func, OuterRef, Q
from django.utils import timezone

from audit.models import AuditEvent
from common.caller import Caller
from common.erasure.handlers import ErasableColumns, ErasureHandler, register
from common.erasure.redaction import (
    Redactor,
    columns_redactor,
    empty,
    json_redactor,
    redact,
    redact_name,
)
from common.erasure.scope import ErasureScope
from memories.models import (
    DuplicateFinding,
    File,
    Memory,
    MemoryChange,
    MemoryExposure,
    MemoryFile,
    MemoryVector,
    PossibleDuplicate,
    Purge,
    PurgedText,
    Tag,
)
from memories.queries import MemoryQuerySet
from memories.store import originals, search_columns
from search import statistics
from search.models import LexemeStat

# The most memories that are purged while the caller waits; a job purges more.
MAX_INLINE = 200
COLUMN_MASKS: dict[str, Redactor] = {
    **dict.fromkeys(("title", "key", "content", "goal", "result", "feedback"), redact),
    **dict.fromkeys(("outcome", "lessons", "user_id", "created_in_session_id"), redact),
    **dict.fromkeys(
        ("scope_key", "scope_type", "scope_user", "delete_reason"), redact_name
    ),
    **dict.fromkeys(("value", "steps", "tool_usage", "metadata"), empty),
    **dict.fromkeys(("tags", "provenance", "compaction"), empty),
}
CHANGE_MASK = columns_redactor(COLUMN_MASKS | {"scope": json_redactor("kind")})
# A purged row is deleted, and its text is a mask. The mask alone is not enough, because a
# user may store text that looks like a mask.
UNPURGED = Q(deleted_at=None) | ~Q(content__regex=r"^\[purged\] [0-9a-f]{32}$")
ACTOR = "names an actor: an agent, a key or an account"
INTERNAL = "set by the service, contains no text of a person"


def _recompute(memory: Memory) -> None:
    search_columns.fill(memory, "simple")
    memory.scope_hash = memory.typed_scope.hash


def _memories(erasure: ErasureScope) -> MemoryQuerySet:
    rows: MemoryQuerySet = Memory.objects.filter(
        pk__in=erasure.ids_of("memory")
    ).light()
    return rows


def _pair_rows(model: Any, other: str) -> Any:
    def rows(erasure: ErasureScope) -> Any:
        ids = erasure.ids_of("memory")
        return model.objects.filter(Q(memory__in=ids) | Q(**{f"{other}__in": ids}))

    return rows


@register
class MemoryErasure(ErasureHandler):
    erasable = (
        ErasableColumns(
            Memory,
            _memories,
            COLUMN_MASKS,
            derived=("similarity_hash", "scope_hash", "content_tsv"),
            recompute=_recompute,
        ),
        ErasableColumns(
            MemoryChange,
            lambda erasure: MemoryChange.objects.filter(
                memory_id__in=erasure.ids_of("memory")
            ),
            {"before": CHANGE_MASK, "after": CHANGE_MASK, "reason": redact_name},
        ),
        ErasableColumns(
            MemoryVector,
            lambda erasure: MemoryVector.objects.filter(
                memory__in=erasure.ids_of("memory")
            ).defer("embedding"),
            derived=("embedding",),
        ),
        ErasableColumns(
            PossibleDuplicate,
            _pair_rows(PossibleDuplicate, "other"),
            deleted=("why_not_merged", "note"),
        ),
        ErasableColumns(
            DuplicateFinding,
            _pair_rows(DuplicateFinding, "original"),
            deleted=("why_not_merged",),
        ),
        ErasableColumns(
            MemoryFile,
            lambda erasure: MemoryFile.objects.filter(
                memory__in=erasure.ids_of("memory")
            ),
            derived=("content_hash",),
        ),
        ErasableColumns(
            File,
            lambda erasure: File.objects.filter(pk__in=erasure.ids_of("file")),
            deleted=("file_path", "file_type", "renamed_from"),
        ),
        ErasableColumns(
            Tag,
            lambda erasure: Tag.objects.filter(pk__in=erasure.ids_of("tag")),
            deleted=("name", "description", "category"),
        ),
        ErasableColumns(LexemeStat, None, derived=("lexeme",)),
        # The admin log of Django names a row by the start of the row's text.
        ErasableColumns(
            LogEntry,
            lambda erasure: LogEntry.objects.filter(
                object_id__in=[str(pk) for pk in erasure.all_ids]
            ),
            {"object_repr": redact, "change_message": redact},
        ),
    )
    no_text = {
        Memory: {
            "agent_id": ACTOR,
            "deleted_by": ACTOR,
            "compacted_from": INTERNAL,
            "content_terms": "generated of content_tsv",
        },
        MemoryVector: {"model": INTERNAL},
        MemoryChange: {
            "actor": ACTOR,
            "agent_id": ACTOR,
            "source": INTERNAL,
            "request_id": INTERNAL,
        },
        File: {
            "last_content_hash": "the hash of a file of the code base",
            "attested_hash": "the hash of a file of the code base",
        },
        PossibleDuplicate: {"decided_by": ACTOR},
        MemoryExposure: {
            "agent_id": ACTOR,
            "used_as": INTERNAL,
            "request_id": INTERNAL,
        },
        Purge: {
            "selection": "masked when the purge is done",
            "reason": "why an owner purged, in the owner's words for the receipt",
            "counts": INTERNAL,
            "descendants": INTERNAL,
            "actor": ACTOR,
        },
        PurgedText: dict.fromkeys(
            ("hmac", "table", "column", "row_id"), "proves a text without telling it"
        ),
        LogEntry: {"object_id": INTERNAL},
    }

    def is_large(self, erasure: ErasureScope) -> bool:
        return len(erasure.ids_of("memory")) > MAX_INLINE

    def expand(self, erasure: ErasureScope) -> None:
        ids = erasure.ids_of("memory")
        for how, is_descendant in (
            ("promoted from it", Q(promoted_from__in=ids)),
            ("compacted from it", Q(compacted_from__overlap=list(ids))),
            ("a duplicate of it", Q(duplicate_of__in=ids)),
        ):
            rows = Memory.objects.filter(is_descendant, project_id=erasure.project_id)
            if not erasure.cascade:
                rows = rows.filter(UNPURGED)
            descendants = set(rows.values_list("pk", flat=True)) - ids
            erasure.add_descendants(
                "memory", descendants, how, is_purged=erasure.cascade
            )
            if erasure.cascade:
                erasure.add("memory", descendants)
        erasure.add("file", _unlinked_files(erasure))
        words = _unused_tags(erasure)
        tags = Tag.objects.filter(project_id=erasure.project_id, name__in=words)
        erasure.add("tag", tags.values_list("pk", flat=True))
        erasure.add("audit_event", _audit_events_of(erasure.project_id, words))

    def lock(self, erasure: ErasureScope) -> None:
        # The lock is a full one. A new link to a file takes a key share of the file's row,
        # and this key share must wait.
        files = File.objects.filter(pk__in=erasure.ids_of("file")).order_by("file_path")
        list(files.select_for_update().values_list("pk", flat=True))
        rows = _memories(erasure).order_by("pk").select_for_update(no_key=True)
        list(rows.values_list("pk", flat=True))

    def prepare(
        self, erasure: ErasureScope, purge_id: uuid.UUID, caller: Caller
    ) -> None:
        """Delete the rows that are not deleted yet.

        Duplicates outside the purge become originals in their place.
        """
        rows = _memories(erasure)
        MemoryChange.objects.bulk_create(
            MemoryChange(
                memory_id=pk,
                project_id=erasure.project_id,
                action=MemoryChange.Action.PURGE,
                actor=caller.name[:200],
                reason=str(purge_id),
                request_id=caller.request_id,
            )
            for pk in rows.filter(UNPURGED).values_list("pk", flat=True)
        )
        rows.filter(UNPURGED).update(
            deleted_at=timezone.now(),
            deleted_by=caller.name[:200],
            delete_reason=str(purge_id),
            retired_into=None,
            version=F("version") + 1,
        )
        copies = Memory.objects.filter(duplicate_of__in=erasure.ids_of("memory"))
        with_successor = copies.exclude(pk__in=erasure.ids_of("memory")).values(
            "duplicate_of"
        )
        derived = Q(promoted_from__isnull=False) | ~Q(compacted_from=[])
        for memory in rows.filter(Q(pk__in=with_successor) | derived).order_by("pk"):
            originals.release(memory, caller)

    def finish(self, erasure: ErasureScope) -> None:
        if erasure.ids_of("memory"):
            statistics.rebuild(
                Memory.objects.current(),
                project_id=erasure.project_id,
                name=search_columns.CORPUS,
            )


def _unlinked_files(erasure: ErasureScope) -> set[uuid.UUID]:
    """Return the files that no other memory links to and whose content no sync reported.

    Files without any link are included, because no history tells which memory linked to
    them.
    """
    others = MemoryFile.objects.exclude(memory__in=erasure.ids_of("memory"))
    rows = File.objects.filter(
        ~Exists(others.filter(file=OuterRef("pk"))),
        project_id=erasure.project_id,
        last_content_hash="",
    )
    return set(rows.values_list("pk", flat=True)) if erasure.ids_of("memory") else set()


def _unused_tags(erasure: ErasureScope) -> set[str]:
    """Return the tags that only these memories have or had.

    Tags that somebody created or edited as a tag are left out.
    """
    rows = Memory.objects.filter(project_id=erasure.project_id)
    ids = erasure.ids_of("memory")
    names = _tags_of(rows.filter(pk__in=ids)) | _former_tags(ids)
    others = rows.filter(tags__overlap=list(names)).exclude(pk__in=ids)
    return names - _tags_of(others) - _listed_tags(erasure.project_id, names)


def _tags_of(rows: MemoryQuerySet) -> set[str]:
    each = rows.order_by().annotate(word=Func(F("tags"), function="unnest"))
    return set(each.values_list("word", flat=True).distinct())


def _former_tags(memory_ids: Set[uuid.UUID]) -> set[str]:
    rows = MemoryChange.objects.filter(memory_id__in=memory_ids).order_by()
    changes = chain.from_iterable(rows.values_list("before__tags", "after__tags"))
    return set(chain.from_iterable(filter(None, changes)))


def _listed_tags(project_id: uuid.UUID, words: Set[str]) -> set[str]:
    tags = Tag.objects.filter(project_id=project_id, name__in=words)
    names = {str(pk): name for pk, name in tags.values_list("pk", "name")}
    edits = AuditEvent.objects.filter(
        object_id__in=names, verb__in=["tag.create", "tag.update"]
    )
    return {names[pk] for pk in edits.values_list("object_id", flat=True)}


def _audit_events_of(project_id: uuid.UUID, words: Set[str]) -> set[uuid.UUID]:
    """Return the audit rows that name one of the tags.

    Audit rows of deleted tags are included.
    """
    rows = AuditEvent.objects.filter(
        Q(detail__name__in=words)
        | Q(detail__old__in=words)
        | Q(detail__into__in=words),
        project_id=project_id,
        object_type="tag",
    )
    return set(rows.values_list("pk", flat=True)) if words else set()
