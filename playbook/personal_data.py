"""Erase personal data from the playbook.

Quotes are always erased. Lessons are erased only with `cascade`. Without `cascade`,
entries go to the review inbox if they were learned from a purged memory or are
supported by a purged memory.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable

from django.db.models import Q, QuerySet

from common.caller import Caller
from common.erasure.handlers import (
    ErasableColumns,
    ErasureHandler,
    register,
    rows_of,
)
from common.erasure.redaction import (
    columns_redactor,
    empty,
    json_redactor,
    redact,
    redact_name,
)
from common.erasure.scope import ErasureScope
from playbook.entries import entry_index
from playbook.history import votes
from playbook.history.operations import WRITES_TEXT
from playbook.history.revision import Cause, Revision, lock_playbook
from playbook.lessons.draft import Operation
from playbook.models import (
    Anchor,
    DeltaVector,
    EntryVector,
    Exposure,
    LessonCandidate,
    Playbook,
    PlaybookChange,
    PlaybookDelta,
    PlaybookEntry,
    Support,
)
from playbook.queries import DeltaQuerySet
from projects.models import Project
from search import statistics

Status = PlaybookDelta.DeltaStatus
NAME = "purge"
ENTRY_COLUMNS = {
    **dict.fromkeys(("content", "condition", "action"), redact),
    "tags": empty,
    "applies_to": empty,
    "expires_when": redact,
}
CHANGE_COLUMNS = columns_redactor(ENTRY_COLUMNS)
QUOTE_COLUMNS = {
    "evidence": json_redactor("field"),
    "gates": json_redactor("name", "verdict"),
    "reason": redact,
    "review_note": redact,
}
TEXT_COLUMNS = {
    "content": redact,
    **dict.fromkeys(("tags", "applies_to"), empty),
    "expires_when": redact,
    "payload": json_redactor(
        *("feedback_source", "vote", "reason_code", "origin"),
        *("status", "reviewer", "state", "decided_by"),
    ),
    "suggested": json_redactor("operation", "category", "producer"),
}
# Statuses of deltas whose text is the text of an entry, or was the text of an entry.
IN_PLAYBOOK = (*PlaybookDelta.IN_FORCE, Status.REVERTED)
AUTHOR_NAME = "names who did it: an agent, a key or an account"
PERSON = "a hash by which two callers of one person are recognized"
SESSION_NAME = "names a session, as the client does"
SERVICE_VALUE = "made by the service, of no text"


def _deltas(erasure: ErasureScope) -> DeltaQuerySet:
    found: DeltaQuerySet = PlaybookDelta.objects.filter(
        Q(memory_id__in=erasure.ids_of("memory")) | Q(run_id__in=erasure.ids_of("run")),
        project_id=erasure.project_id,
    )
    return found


def _candidates(erasure: ErasureScope) -> QuerySet[LessonCandidate]:
    """Select the candidates that quote an erased memory or run."""
    ids = [*erasure.ids_of("memory"), *erasure.ids_of("run")]
    quotes = Q(memory_id__in=ids)
    for pk in ids:
        quotes |= Q(evidence__contains=[{"id": str(pk)}])
    return LessonCandidate.objects.filter(quotes, project_id=erasure.project_id)


def _reasons(erasure: ErasureScope) -> QuerySet[PlaybookChange]:
    return PlaybookChange.objects.filter(
        Q(related_memory_id__in=erasure.ids_of("memory"))
        | Q(run_id__in=erasure.ids_of("run"))
        | Q(entry_id__in=erasure.ids_of("entry")),
        project_id=erasure.project_id,
    )


@register
class PlaybookErasure(ErasureHandler):
    erasable = (
        ErasableColumns(
            PlaybookEntry,
            rows_of(PlaybookEntry, "entry"),
            ENTRY_COLUMNS,
            derived=("similarity_hash", "content_tsv"),
            recompute=lambda entry: entry_index.fill(entry, "simple"),
        ),
        ErasableColumns(
            EntryVector,
            rows_of(EntryVector, "entry", "entry"),
            derived=("embedding",),
        ),
        ErasableColumns(
            Anchor, rows_of(Anchor, "entry", "entry"), deleted=("file_path",)
        ),
        ErasableColumns(
            PlaybookDelta, rows_of(PlaybookDelta, "quoting"), QUOTE_COLUMNS
        ),
        ErasableColumns(
            PlaybookDelta,
            rows_of(PlaybookDelta, "delta"),
            TEXT_COLUMNS,
            derived=("similarity_hash",),
            recompute=lambda delta: setattr(delta, "similarity_hash", ""),
        ),
        ErasableColumns(
            DeltaVector, rows_of(DeltaVector, "delta", "delta"), derived=("embedding",)
        ),
        ErasableColumns(
            LessonCandidate,
            _candidates,
            deleted=("content", "evidence", "embedding"),
            derived=("similarity_hash",),
        ),
        ErasableColumns(
            PlaybookChange,
            rows_of(PlaybookChange, "entry", "entry_id"),
            {"before": CHANGE_COLUMNS, "after": CHANGE_COLUMNS},
        ),
        ErasableColumns(PlaybookChange, _reasons, {"reason": redact_name}),
    )
    no_text = {
        PlaybookEntry: {
            **dict.fromkeys(
                ("label", "category", "merged_from", "aliases"), SERVICE_VALUE
            ),
            "created_by": AUTHOR_NAME,
            "content_terms": "generated of content_tsv",
        },
        EntryVector: {"model": SERVICE_VALUE},
        DeltaVector: {"model": SERVICE_VALUE},
        LessonCandidate: {
            **dict.fromkeys(("kind", "model"), SERVICE_VALUE),
            "sessions": SESSION_NAME,
        },
        PlaybookDelta: {
            **dict.fromkeys(("proposed_by", "agent_id", "reviewer"), AUTHOR_NAME),
            **dict.fromkeys(
                ("category", "risk", "targets", "idempotency_key"), SERVICE_VALUE
            ),
            **dict.fromkeys(("producer_name", "producer_version"), SERVICE_VALUE),
            **dict.fromkeys(("person", "served_persons"), PERSON),
            **{"kind": SERVICE_VALUE, "session": SESSION_NAME},
        },
        PlaybookChange: {
            **dict.fromkeys(("actor", "agent_id"), AUTHOR_NAME),
            **dict.fromkeys(("action", "entry_label", "request_id"), SERVICE_VALUE),
        },
        Exposure: {
            "agent_id": AUTHOR_NAME,
            "request_id": SERVICE_VALUE,
            "session": "a digest of the name of a session",
        },
        Playbook: {},
        Support: {},
    }

    def expand(self, erasure: ErasureScope) -> None:
        deltas = _deltas(erasure)
        applied_deltas = deltas.filter(
            operation__in=WRITES_TEXT, status__in=IN_PLAYBOOK
        )
        learned_entries = set(
            applied_deltas.exclude(entry=None).values_list("entry", flat=True)
        )
        supported, alone = _supported_entries(erasure)
        for relation, ids, is_purged in (
            ("learned from it", learned_entries, erasure.cascade),
            ("supported by it alone", alone, erasure.cascade),
            ("supported by it and others", supported, False),
            (
                "merged from one learned from it",
                _merge_results(learned_entries | alone),
                erasure.cascade,
            ),
        ):
            erasure.add_descendants(
                "playbook_entry", ids, relation, is_purged=is_purged
            )
            if is_purged:
                erasure.add("entry", ids)
        forgets = Q(operation=Operation.FORGET)
        waiting = set(deltas.pending().exclude(forgets).values_list("pk", flat=True))
        erasure.add_descendants(
            "playbook_delta", waiting, "proposed from it", is_purged=erasure.cascade
        )
        of_entries = PlaybookDelta.objects.filter(
            _deltas_about(erasure.ids_of("entry"))
        )
        erasure.add("quoting", deltas.values_list("pk", flat=True))
        erasure.add("quoting", of_entries.values_list("pk", flat=True))
        # The words of a removal are about the memory alone.
        is_kept = Q(status__in=[*IN_PLAYBOOK, Status.PENDING]) & ~forgets
        erased = deltas.exclude(is_kept)
        erasure.add("delta", erased.values_list("pk", flat=True))
        erasure.add("delta", of_entries.values_list("pk", flat=True))
        erasure.add("delta", waiting if erasure.cascade else ())

    def lock(self, erasure: ErasureScope) -> None:
        if erasure.ids_of("memory"):
            lock_playbook(Project.objects.get(pk=erasure.project_id))

    def prepare(
        self, erasure: ErasureScope, purge_id: uuid.UUID, caller: Caller
    ) -> None:
        project = Project.objects.get(pk=erasure.project_id)
        cause = Cause(reason=str(purge_id))
        votes.withdraw_supports(
            project, sorted(erasure.ids_of("memory")), cause, caller
        )
        _retire(project, erasure.ids_of("entry"), cause, caller)
        _withdraw(erasure.ids_of("delta"), caller)
        kept_ids = [d.id for d in erasure.descendants.values() if not d.is_purged]
        _ask_for_review(project, kept_ids, purge_id, caller)

    def finish(self, erasure: ErasureScope) -> None:
        if erasure.ids_of("entry"):
            statistics.rebuild(
                PlaybookEntry.objects.current(),
                project_id=erasure.project_id,
                name=entry_index.CORPUS,
            )


def _supported_entries(erasure: ErasureScope) -> tuple[set[uuid.UUID], set[uuid.UUID]]:
    """Return the entries that these memories support, and those that no others support.

    The second set holds the entries that would lose all supports.
    """
    supports = Support.objects.filter(entry__project=erasure.project_id)
    theirs = supports.filter(memory__in=erasure.ids_of("memory"))
    supported = set(theirs.values_list("entry", flat=True))
    others = supports.filter(entry__in=supported).exclude(
        memory__in=erasure.ids_of("memory")
    )
    return supported, supported - set(others.values_list("entry", flat=True))


def _merge_results(entry_ids: Iterable[uuid.UUID]) -> set[uuid.UUID]:
    rows = PlaybookEntry.objects.filter(merged_from__overlap=list(entry_ids))
    return set(rows.values_list("pk", flat=True))


def _deltas_about(entry_ids: Iterable[uuid.UUID]) -> Q:
    """Match the deltas of these entries, and merges that would include one of these entries."""
    about = Q(entry__in=entry_ids)
    for pk in entry_ids:
        about |= Q(targets__contains=[{"id": str(pk)}])
    return about


def _retire(
    project: Project, entry_ids: Iterable[uuid.UUID], cause: Cause, caller: Caller
) -> None:
    """Delete entries by a revision, so that the history records the deletion."""
    revision = Revision(lock_playbook(project), caller, cause)
    rows = PlaybookEntry.objects.light().filter(pk__in=entry_ids).order_by("pk")
    for entry in rows.exclude(status=PlaybookEntry.EntryStatus.DELETED):
        deleted = {"status": PlaybookEntry.EntryStatus.DELETED}
        revision.change(entry, "delete", deleted)
    revision.close()


def _withdraw(delta_ids: Iterable[uuid.UUID], caller: Caller) -> None:
    """Reject waiting proposals whose text is erased."""
    waiting = PlaybookDelta.objects.filter(pk__in=delta_ids).pending()
    waiting.update(status=Status.REJECTED, review_note="Its source was purged.")


def _ask_for_review(
    project: Project, ids: Iterable[uuid.UUID], purge_id: uuid.UUID, caller: Caller
) -> None:
    """Propose to retire entries whose source is purged.

    An entry is proposed only once for each version.
    """
    rows = PlaybookEntry.objects.current().light().filter(pk__in=ids).order_by("pk")
    PlaybookDelta.objects.bulk_create(
        (
            PlaybookDelta(
                project=project,
                operation=PlaybookDelta.DeltaOperation.DEPRECATE,
                entry=entry,
                expected_version=entry.version,
                reason=f"The memory that it was learned from was purged ({purge_id}). Accept "
                "to retire the entry, reject to keep it.",
                producer=PlaybookDelta.Producer.RULE,
                producer_name=NAME,
                producer_version="1",
                proposed_by=caller.name[:200],
                idempotency_key=_key(entry),
            )
            for entry in rows
        ),
        ignore_conflicts=True,
    )


def _key(entry: PlaybookEntry) -> str:
    whole = f"{NAME} {entry.pk} {entry.version}"
    return hashlib.sha256(whole.encode()).hexdigest()
