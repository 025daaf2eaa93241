"""Purge: remove a person's texts for good, from every place they were copied to.

A purge is one transaction. If its process dies, nothing is changed. Rows that are already
purged are skipped, so that a repeated purge does nothing.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from audit import trail
from common import append_only, errors
from common.caller import Caller, Role
from common.db import write
from common.erasure import handlers, redaction, row_erasure
from common.erasure.scope import Descendant, ErasureScope
from inference.embedding import active_model
from jobs import queue, runner
from memories import scopes
from memories.lifecycle import lookup
from memories.models import Memory, Purge, PurgedText
from memories.scopes import redact_scope
from projects.models import Project

KIND = "purge"

Selection = Mapping[str, Any]
Selector = Callable[[Any, Project, Caller], Q]


@dataclass(frozen=True)
class ErasePlan:
    """The effect that a purge would have now.

    It has the number of rows in each table, as {table: rows}, and the descendants of the
    texts.
    """

    counts: dict[str, int]
    descendants: list[Descendant]


def preview(
    project: Project, selection: Selection, caller: Caller, *, cascade: bool
) -> ErasePlan:
    """Count what a purge would remove.

    Nothing is changed.
    """
    require_owner(project, caller)
    erasure = _erasure_scope(project, selection, caller, cascade)
    return ErasePlan(
        row_erasure.count_rows(erasure), list(erasure.descendants.values())
    )


@write
def purge(
    project: Project,
    selection: Selection,
    caller: Caller,
    *,
    reason: str,
    cascade: bool = False,
    at_once: bool = False,
) -> Purge:
    """Purge at once, or by a job if there are many rows; return the receipt.

    With `at_once`, there is never a job: the caller is a job, or holds locks.

    `selection` has one key: ids, scope, user_id, session_id or object. With `cascade`,
    everything that was derived from the texts is purged too. Without `cascade`, the derived
    rows wait for a review.
    """
    require_owner(project, caller)
    row = Purge.objects.create(
        project=project,
        selection=_to_json(selection),
        cascade=cascade,
        reason=reason[:500],
        actor=caller.name[:200],
        key_id=caller.key_id,
    )
    erasure = _erasure_scope(project, selection, caller, cascade)
    is_large = any(handler.is_large(erasure) for handler in handlers.all_handlers())
    if is_large and not at_once:
        return _enqueue(row, caller)
    return _carry_out(row, caller)


def require_owner(project: Project, caller: Caller) -> None:
    caller.require_unbound(Role.OWNER, project.pk, action="purge")


def get_purge(purge_id: uuid.UUID, caller: Caller) -> Purge:
    purge: Purge | None = Purge.objects.visible_to(caller).filter(pk=purge_id).first()
    if purge is None:
        raise errors.NotFound(f"There is no purge {purge_id}.")
    return purge


def find_texts(row: Purge, text: str) -> list[PurgedText]:
    """Find the places from which a purge removed exactly this text.

    The list is empty if the purge did not remove this text.
    """
    return list(row.texts.filter(hmac=redaction.hmac_of(text)))


def _to_json(selection: Selection) -> dict[str, Any]:
    if "ids" in selection:
        return {"ids": [str(pk) for pk in selection["ids"]]}
    return dict(selection)


def _enqueue(row: Purge, caller: Caller) -> Purge:
    args = {"purge_id": str(row.pk)}
    job = queue.enqueue(KIND, project_id=row.project_id, args=args)
    assert job
    row.job_id = job.pk
    row.save(update_fields=["job_id"])
    trail.record(
        caller,
        "purge.start",
        project_id=row.project_id,
        object_type="purge",
        object_id=row.pk,
        cascade=row.cascade,
    )
    return row


@runner.handler(KIND, silence=timedelta(minutes=10))
def run_purge(run: runner.JobRun) -> dict[str, Any]:
    """Run a large purge in one transaction."""
    row = _finish(uuid.UUID(run.job.args["purge_id"]))
    return {"purge_id": str(row.pk), "rows": sum(row.counts.values())}


@write
def _finish(purge_id: uuid.UUID) -> Purge:
    # The row is locked. A second worker waits here, and then finds that the purge is done.
    row: Purge = Purge.objects.select_for_update(no_key=True).get(pk=purge_id)
    if row.state == Purge.PurgeState.DONE:
        return row
    roles = {row.project_id: Role.OWNER}
    return _carry_out(row, Caller(row.actor, roles=roles, key_id=row.key_id))


def _carry_out(row: Purge, caller: Caller) -> Purge:
    erasure = _lock_scope(row, caller)
    erasure.add("purge", [each.pk for each in _lock_same_requests(row)])
    for handler in handlers.all_handlers():
        handler.prepare(erasure, row.pk, caller)
    with append_only.allow_changes():
        counts, traces = row_erasure.erase_rows(erasure)
    for handler in handlers.all_handlers():
        handler.finish(erasure)
    PurgedText.objects.bulk_create(
        PurgedText(purge=row, **vars(trace)) for trace in traces
    )
    row.state, row.done_at = Purge.PurgeState.DONE, timezone.now()
    row.counts = counts
    row.descendants = [_descendant_json(each) for each in erasure.descendants.values()]
    row.selection = redaction.json_redactor("kind")(row.selection)
    row.save()
    same = Purge.objects.filter(pk__in=erasure.ids_of("purge"))
    same.update(selection=row.selection)
    trail.record(
        caller,
        "purge",
        project_id=row.project_id,
        object_type="purge",
        object_id=row.pk,
        cascade=row.cascade,
        counts=counts,
    )
    # The vectors of recent queries are cached under the text of the query.
    transaction.on_commit(active_model.forget_queries)
    return row


def _lock_same_requests(row: Purge) -> QuerySet[Purge]:
    """Lock the purge, and the waiting purges that have the same selection.

    A purge that another worker runs now is skipped, because that worker masks its
    selection.
    """
    rows: QuerySet[Purge] = Purge.objects.filter(
        project=row.project, selection=row.selection, state=Purge.PurgeState.WAITING
    )
    return rows.order_by("pk").select_for_update(no_key=True, skip_locked=True)


def _descendant_json(descendant: Descendant) -> dict[str, Any]:
    return vars(descendant) | {"id": str(descendant.id)}


def _lock_scope(row: Purge, caller: Caller) -> ErasureScope:
    """Lock everything that the purge reaches.

    The search and the locks are repeated until the locks find nothing new.
    """
    selection = row.selection
    erasure = _erasure_scope(row.project, selection, caller, row.cascade)
    while True:
        for handler in handlers.all_handlers():
            handler.lock(erasure)
        again = _erasure_scope(row.project, selection, caller, row.cascade)
        if set(again.all_ids) <= set(erasure.all_ids):
            return again
        erasure = again


def _erasure_scope(
    project: Project, selection: Selection, caller: Caller, cascade: bool
) -> ErasureScope:
    erasure = ErasureScope(project.pk, cascade, selection)
    erasure.add("memory", _select_memories(project, selection, caller))
    handlers.expand_scope(erasure)
    return erasure


def _select_memories(
    project: Project, selection: Selection, caller: Caller
) -> set[uuid.UUID]:
    """Return the ids of the selected memories.

    Deleted and purged memories are included. The project may have been deleted in the
    meantime, because a deleted project may be restored.
    """
    [(kind, value)] = selection.items()
    rows = Memory.objects.filter(project=project)
    ids = set(
        rows.filter(SELECTORS[kind](value, project, caller)).values_list(
            "pk", flat=True
        )
    )
    if kind == "ids":
        _refuse_missing(value, ids)
    return ids


def _refuse_missing(named_ids: Any, ids: set[uuid.UUID]) -> None:
    missing = [str(pk) for pk in named_ids if uuid.UUID(str(pk)) not in ids]
    if missing:
        raise lookup.missing_error(missing, field="ids")


def _ids(value: Any, project: Project, caller: Caller) -> Q:
    return Q(pk__in=value)


def _scope(value: Any, project: Project, caller: Caller) -> Q:
    scope = scopes.resolve(value, project, caller)
    return Q(scope_hash__in=[scope.hash, redact_scope(scope).hash])


def _user(value: Any, project: Project, caller: Caller) -> Q:
    """Match the user's scope and sessions, and every memory whose `user_id` is the user."""
    names = redaction.name_variants(value)
    return (
        Q(scope_kind=Memory.ScopeKind.USER, scope_key__in=names)
        | Q(scope_user__in=names)
        | Q(user_id__in=names)
    )


def _session(value: Any, project: Project, caller: Caller) -> Q:
    """Match the memories of the session's scope.

    Memories that were written during the session for another scope match too.
    """
    names = redaction.name_variants(value)
    written = Q(created_in_session_id__in=names, promoted_from=None, compacted_from=[])
    return Q(scope_kind=Memory.ScopeKind.SESSION, scope_key__in=names) | written


def _object(value: Any, project: Project, caller: Caller) -> Q:
    return _scope({"kind": "object", **value}, project, caller)


SELECTORS: dict[str, Selector] = {
    "ids": _ids,
    "scope": _scope,
    "user_id": _user,
    "session_id": _session,
    "object": _object,
}
