"""The reflections that a model owes: ask for one, lease it, and take its answer in.

A reflection is asked for once for each part of a session and for each finished task that an
agent reported itself. Its answer is stored before it is taken in, so that whoever is killed in
between takes the same answer in again; the intake takes each lesson once.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db.models import Max
from django.utils import timezone
from pydantic import ValidationError

from access.restored_caller import caller_of
from ace import curator
from ace.lessons import answer as answers
from ace.lessons import completed_run
from ace.lessons import question as questions
from ace.lessons.question import Question
from ace.models import AceRun, ModelReflection
from ace.reflector import LESSON_FIELDS
from common import errors
from common.caller import Caller, Role
from common.db import write
from conversations.invocations.switch import is_memory_on
from conversations.models import Session
from conversations.queries import InSessionQuerySet
from jobs import queue
from playbook.lessons import intake
from playbook.lessons.lesson import Occasion, TaughtLesson
from playbook.models import PlaybookDelta
from projects import model_access
from projects.models import Project

KIND = "reflection"
LEASE = timedelta(minutes=10)
# A record that nobody has read for so long stays unread.
RETENTION = timedelta(days=90)
# Prompts of a person after which a session that goes on is read.
PROMPTS_OF_PART = 20
MAX_REASONING = 4_000  # characters
MAX_WAIT, LOOK_SECONDS = 30, 0.25  # of a request that waits for a reflection


class ReflectionLeased(errors.StateConflict):
    """Somebody else works on this reflection, or your lease has ended; take the next one."""

    code = "reflection_leased"


class ReflectionDone(errors.StateConflict):
    """This reflection has its answer already; take the next one."""

    code = "reflection_done"


def ask_for_run(run: AceRun, caller: Caller) -> ModelReflection:
    """Ask for a reflection on a finished task, once; call it in a transaction."""
    row, is_new = ModelReflection.objects.get_or_create(
        run=run, defaults={"project": run.project, **_sender(run, caller)}
    )
    if is_new:
        _enqueue(row)
    return row


@write
def ask_for_session(
    session: Session, last_seq: int, sender: Any, *, is_over: bool
) -> ModelReflection | None:
    """Ask for a reflection on what is new in a session, if that is over or long enough.

    `sender` is the row that says who sent the session: a transcript, or a run.
    """
    locked = Session.objects.select_for_update(no_key=True).filter(pk=session.pk)
    if locked.first() is None:
        return None  # purged meanwhile
    known = _last_seq(session)
    if not _is_due(_messages(session, known + 1, last_seq), is_over=is_over):
        return None
    row = ModelReflection.objects.create(
        project=session.project,
        session=session,
        first_seq=known + 1,
        last_seq=last_seq,
        **_sender(sender, caller_of(sender)),
    )
    _enqueue(row)
    return row


def is_new(session: Session, messages: InSessionQuerySet) -> bool:
    """Return whether one of the messages is later than all that was asked for."""
    return messages.filter(seq__gt=_last_seq(session)).exists()


def _last_seq(session: Session) -> int:
    rows = ModelReflection.objects.filter(session=session)
    return rows.aggregate(last=Max("last_seq"))["last"] or 0


def _is_due(messages: InSessionQuerySet, *, is_over: bool) -> bool:
    prompts = messages.filter(role="user", has_words=True)
    return prompts.exists() if is_over else prompts.count() >= PROMPTS_OF_PART


def _messages(session: Session, first: int, last: int) -> InSessionQuerySet:
    rows: InSessionQuerySet = session.messages.light().visible()
    return rows.filter(seq__gte=first, seq__lte=last)


def _sender(work: Any, caller: Caller) -> dict[str, Any]:
    return {
        "person": caller.person,
        "actor": work.actor,
        "key_id": work.key_id,
        "account_id": work.account_id,
        "agent_id": work.agent_id,
        "is_attested": work.is_attested,
    }


def _enqueue(row: ModelReflection) -> None:
    if model_access.is_enabled(row.project):
        queue.enqueue(
            KIND,
            project_id=row.project_id,
            args={"reflection_id": str(row.pk)},
            key=str(row.pk),
        )


def enqueue_waiting(project: Project) -> int:
    """Let a worker try again what an outage has postponed; return how many there are."""
    if not model_access.is_enabled(project):
        return 0
    rows = ModelReflection.objects.unleased().filter(project=project)
    waiting = list(rows.order_by("pk")[:100])
    for row in waiting:
        _enqueue(row)
    return len(waiting)


def prune(project: Project) -> int:
    """Delete the waiting reflections that are too old; return their number."""
    old = timezone.now() - RETENTION
    rows = ModelReflection.objects.unleased().filter(project=project)
    return rows.filter(created_at__lt=old).delete()[0]


def lease_next(project: Project, caller: Caller) -> ModelReflection | None:
    """Lease the oldest waiting reflection on what the caller's person sent."""
    caller.require(Role.WRITER, project.pk)
    rows = ModelReflection.objects.visible_to(caller).unleased()
    own = rows.filter(project=project, person__in=caller.own_names).order_by("pk")
    for row in own[:20]:
        if lease(row, holder_of(caller)):
            return row
    return None


@write
def lease(row: ModelReflection, holder: str) -> bool:
    """Lease a reflection to a holder, who may have leased it before; False if another has it.

    Without memory, nothing is read: the reflection is dropped.
    """
    found = ModelReflection.objects.select_for_update(no_key=True).filter(pk=row.pk)
    locked = found.first()
    if locked is None or locked.state != ModelReflection.ReflectionState.WAITING:
        return False
    if not _may_read(locked):
        locked.delete()
        return False
    now = timezone.now()
    is_free = locked.lease_until is None or locked.lease_until < now
    if not is_free and locked.lease_holder != holder:
        return False
    locked.lease_holder, locked.lease_until = holder, now + LEASE
    locked.save(update_fields=["lease_holder", "lease_until"])
    row.refresh_from_db()
    return True


def _may_read(row: ModelReflection) -> bool:
    if row.session is None:
        return True
    return is_memory_on(row.project, row.session.user_id, row.session)


def release(row: ModelReflection) -> None:
    ModelReflection.objects.filter(pk=row.pk).update(lease_until=None)


def holder_of(caller: Caller) -> str:
    return str(caller.key_id or caller.account_id or caller.name)[:64]


def wait_for(run: AceRun, seconds: int) -> None:
    """Wait until the reflection on a run is done, at most MAX_WAIT; read its result again."""
    until = time.monotonic() + min(seconds, MAX_WAIT)
    rows = ModelReflection.objects.waiting().filter(run=run)
    while rows.exists() and time.monotonic() < until:
        time.sleep(LOOK_SECONDS)
    run.refresh_from_db(fields=["result"])


def question_for(row: ModelReflection) -> Question | None:
    """Return the question about the next part; None if nothing is left to read."""
    return questions.build(row)


def answer(
    row: ModelReflection, part: int, data: Mapping[str, Any], *, model: str, holder: str
) -> ModelReflection:
    """Store the answer to a part, and take its lessons in.

    The same part again changes nothing. Raise Invalid if the answer has not the shape that
    the question asks for, ReflectionLeased if another holds the lease.
    """
    if part <= row.parts_done:
        return row
    if row.state == ModelReflection.ReflectionState.DONE:
        raise ReflectionDone
    question = question_for(row)
    if question is None or part != question.part.number:
        raise errors.Invalid(errors={"part": ["It is not the part that was asked."]})
    _check(question, data)
    _store(row, data, model, holder)
    take_in(row, question)
    return row


def _check(question: Question, data: Mapping[str, Any]) -> None:
    try:
        question.shape.model_validate(data)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)[:10]
        told = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in found]
        raise errors.Invalid(errors={"answer": told}) from error


@write
def _store(
    row: ModelReflection, data: Mapping[str, Any], model: str, holder: str
) -> None:
    rows = ModelReflection.objects.select_for_update(no_key=True)
    locked = rows.filter(pk=row.pk).first()
    if locked is None:
        raise errors.NotFound
    is_held = locked.lease_until and locked.lease_until >= timezone.now()
    if locked.lease_holder != holder or not is_held:
        raise ReflectionLeased
    if locked.answer is None:
        locked.answer, locked.model = dict(data), model[:100]
        locked.save(update_fields=["answer", "model"])
    row.refresh_from_db()


def close(row: ModelReflection) -> None:
    """Mark a reflection as done that has nothing to read."""
    ModelReflection.objects.filter(pk=row.pk).update(
        state=ModelReflection.ReflectionState.DONE, finished_at=timezone.now()
    )


def take_in(row: ModelReflection, question: Question) -> None:
    """Take the stored answer in: give its lessons to the playbook, and go on to the next part."""
    caller = caller_of(row)
    parsed = question.shape.model_validate(row.answer)
    taught = list(answers.read_lessons(parsed, question.rules, model=row.model))
    occasion = _occasion(row, question)
    lessons = [
        _told(each, delta)
        for each in taught
        for delta in intake.take(row.project, [each], occasion, caller)
    ]
    result = {
        "reasoning": parsed.reasoning[:MAX_REASONING],
        "errors": answers.read_errors(parsed, question.part.sources),
        "lessons": lessons,
        "given": len(taught),
    }
    _advance(row, question, result)


def _occasion(row: ModelReflection, question: Question) -> Occasion:
    run = row.run
    return Occasion(
        id=uuid.uuid5(row.pk, str(question.part.number)),
        sources=question.part.sources,
        run_id=run.pk if run else None,
        memory_id=run.memory_id if run else None,
        session=row.session.key if row.session else "",
        agent_id=row.agent_id,
    )


def _told(taught: TaughtLesson, delta: PlaybookDelta) -> dict[str, Any]:
    """Return what a lesson said and what became of it."""
    lesson = taught.lesson.to_json()
    return {
        **{name: lesson[name] for name in LESSON_FIELDS},
        "category": delta.category,
        "operation": taught.operation,
        "label": taught.label,
        "expires_when": taught.lesson.expires_when,
        "status": delta.status,
        "change": curator.describe_change(delta),
    }


@write
def _advance(
    row: ModelReflection, question: Question, result: Mapping[str, Any]
) -> None:
    locked = ModelReflection.objects.select_for_update(no_key=True).get(pk=row.pk)
    if locked.parts_done >= question.part.number:
        return
    locked.results = [*locked.results, dict(result)]
    locked.parts_done, locked.answer = question.part.number, None
    if locked.parts_done >= question.part.of:
        locked.state = ModelReflection.ReflectionState.DONE
        locked.finished_at, locked.lease_until = timezone.now(), None
    locked.save(
        update_fields=[
            *("results", "parts_done", "answer", "state"),
            *("finished_at", "lease_until"),
        ]
    )
    row.refresh_from_db()
    if row.run_id and row.state == ModelReflection.ReflectionState.DONE:
        completed_run.complete(row)
