"""Purge: take a person's texts away for good, wherever they were copied to.

Everything happens in one transaction, so that a process that dies in it has changed
nothing. What is purged already is passed over: a second purge finishes or does nothing.
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
from memories.models import Memory, Purge, PurgedText
from memories.scopes import redact_scope
from projects.models import Project

KIND = "purge"
MAX_INLINE = 200  # memories purged while the caller waits; more of them by a job

Selection = Mapping[str, Any]
Selector = Callable[[Any, Project, Caller], Q]


@dataclass(frozen=True)
class ErasePlan:
    """What a purge would do now: {table: rows}, and what was made of the texts."""

    counts: dict[str, int]
    descendants: list[Descendant]


def preview(
    project: Project, asked: Selection, caller: Caller, *, cascade: bool
) -> ErasePlan:
    """Count what would go, and change nothing."""
    require_owner(project, caller)
    erasure = _find_reached(project, asked, caller, cascade)
    return ErasePlan(
        row_erasure.count_rows(erasure), list(erasure.descendants.values())
    )


@write
def purge(
    project: Project,
    asked: Selection,
    caller: Caller,
    *,
    reason: str,
    cascade: bool = False,
) -> Purge:
    """Purge at once, or by a job when there is much of it; the receipt.

    `asked` is one of {"ids"}, {"scope"}, {"user_id"}, {"session_id"}, {"object"}. With
    `cascade` what was made of the texts goes too; without it a person is asked.
    """
    require_owner(project, caller)
    row = Purge.objects.create(
        project=project,
        selection=_to_json(asked),
        cascade=cascade,
        reason=reason[:500],
        actor=caller.name[:200],
        key_id=caller.key_id,
    )
    if (
        len(_find_reached(project, asked, caller, cascade).ids_of("memory"))
        > MAX_INLINE
    ):
        return _enqueue(row, caller)
    return _carry_out(row, caller)


def require_owner(project: Project, caller: Caller) -> None:
    caller.require_unbound(Role.OWNER, project.pk, action="purge")


def get_purge(purge_id: uuid.UUID, caller: Caller) -> Purge:
    found: Purge | None = Purge.objects.visible_to(caller).filter(pk=purge_id).first()
    if found is None:
        raise errors.NotFound(f"There is no purge {purge_id}.")
    return found


def find_texts(row: Purge, text: str) -> list[PurgedText]:
    """Where this very text stood when the purge took it; empty if it did not."""
    return list(row.texts.filter(hmac=redaction.hmac_of(text)))


def _to_json(asked: Selection) -> dict[str, Any]:
    if "ids" in asked:
        return {"ids": [str(pk) for pk in asked["ids"]]}
    return dict(asked)


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


@runner.handler(KIND, lease=timedelta(minutes=10))
def run_purge(run: runner.JobRun) -> dict[str, Any]:
    """Carry out a large purge: all of it, or nothing when the worker dies."""
    row = _finish(uuid.UUID(run.job.args["purge_id"]))
    return {"purge_id": str(row.pk), "rows": sum(row.counts.values())}


@write
def _finish(purge_id: uuid.UUID) -> Purge:
    # Held: a second worker waits here, and finds it done.
    row: Purge = Purge.objects.select_for_update(no_key=True).get(pk=purge_id)
    if row.state == Purge.State.DONE:
        return row
    roles = {row.project_id: Role.OWNER}
    return _carry_out(row, Caller(row.actor, roles=roles, key_id=row.key_id))


def _carry_out(row: Purge, caller: Caller) -> Purge:
    erasure = _lock_reached(row, caller)
    erasure.add("purge", [each.pk for each in _lock_same_requests(row)])
    for part in handlers.all_handlers():
        part.prepare(erasure, row.pk, caller)
    with append_only.allow_changes():
        counts, traces = row_erasure.erase_rows(erasure)
    for part in handlers.all_handlers():
        part.finish(erasure)
    PurgedText.objects.bulk_create(
        PurgedText(purge=row, **vars(trace)) for trace in traces
    )
    row.state, row.done_at = Purge.State.DONE, timezone.now()
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
    # Vectors of what was searched for lately, by its text.
    transaction.on_commit(active_model.forget_queries)
    return row


def _lock_same_requests(row: Purge) -> QuerySet[Purge]:
    """The purge itself, and those that were asked the same and wait.

    Whoever carries one of them out at this moment masks it.
    """
    rows: QuerySet[Purge] = Purge.objects.filter(
        project=row.project, selection=row.selection, state=Purge.State.WAITING
    )
    return rows.order_by("pk").select_for_update(no_key=True, skip_locked=True)


def _descendant_json(descendant: Descendant) -> dict[str, Any]:
    return vars(descendant) | {"id": str(descendant.id)}


def _lock_reached(row: Purge, caller: Caller) -> ErasureScope:
    """Everything that is reached, locked; looked at again until nothing was added."""
    asked = row.selection
    erasure = _find_reached(row.project, asked, caller, row.cascade)
    while True:
        for part in handlers.all_handlers():
            part.lock(erasure)
        again = _find_reached(row.project, asked, caller, row.cascade)
        if set(again.all_ids) <= set(erasure.all_ids):
            return again
        erasure = again


def _find_reached(
    project: Project, asked: Selection, caller: Caller, cascade: bool
) -> ErasureScope:
    erasure = ErasureScope(project.pk, cascade)
    erasure.add("memory", _select_memories(project, asked, caller))
    handlers.expand_scope(erasure)
    return erasure


def _select_memories(
    project: Project, asked: Selection, caller: Caller
) -> set[uuid.UUID]:
    """The memories that are asked for, those that are deleted or purged among them.

    Of a project that was hidden meanwhile, too: it may be restored.
    """
    [(kind, value)] = asked.items()
    rows = Memory.objects.filter(project=project)
    found = set(
        rows.filter(SELECTORS[kind](value, project, caller)).values_list(
            "pk", flat=True
        )
    )
    if kind == "ids":
        _refuse_missing(value, found)
    return found


def _refuse_missing(wanted: Any, found: set[uuid.UUID]) -> None:
    missing = [str(pk) for pk in wanted if uuid.UUID(str(pk)) not in found]
    if missing:
        raise errors.NotFound(f"There is no memory {', '.join(missing)}.")


def _ids(value: Any, project: Project, caller: Caller) -> Q:
    return Q(pk__in=value)


def _scope(value: Any, project: Project, caller: Caller) -> Q:
    scope = scopes.resolve(value, project, caller)
    return Q(scope_hash__in=[scope.hash, redact_scope(scope).hash])


def _user(value: Any, project: Project, caller: Caller) -> Q:
    """Everything of a user: the user's scope and sessions, and what names the user."""
    names = _name_variants(value)
    return (
        Q(scope_kind=Memory.Scope.USER, scope_key__in=names)
        | Q(scope_user__in=names)
        | Q(user_id__in=names)
    )


def _session(value: Any, project: Project, caller: Caller) -> Q:
    """The session's own memories, and what was written in it for a wider scope."""
    names = _name_variants(value)
    written = Q(created_in_session_id__in=names, promoted_from=None, compacted_from=[])
    return Q(scope_kind=Memory.Scope.SESSION, scope_key__in=names) | written


def _object(value: Any, project: Project, caller: Caller) -> Q:
    return _scope({"kind": "object", **value}, project, caller)


def _name_variants(value: str) -> list[str]:
    """As it was written, and as an earlier purge has left it."""
    return [value, redaction.redact(value), redaction.redact_name(value)]


SELECTORS: dict[str, Selector] = {
    "ids": _ids,
    "scope": _scope,
    "user_id": _user,
    "session_id": _session,
    "object": _object,
}
