"""Store what a run said in the session of its conversation.

Each message has an external id of the run, so that it is stored once, however often the end
of a run is repeated.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator

from django.db.models import Exists, OuterRef, Q, TextField
from django.db.models.functions import Cast, Substr

from agents.models import AgentRun
from agents.steps import AgentStep
from common.caller import Caller
from conversations.formats.message import ChatMessage, Part
from conversations.messages.append import append, prepare
from conversations.models import Message, Session
from conversations.queries import MessageQuerySet

SAFE_RESULT = 20_000  # characters of an observation
# The external id of a message: `run <id> <part>`.
NAME, QUESTION, UUID_LENGTH = "run ", "question", 36


def find_session(run: AgentRun) -> Session | None:
    """Return the session of a run's conversation, if it has one."""
    if run.session_id is None:
        return None
    session: Session | None = Session.objects.filter(pk=run.session_id).first()
    return session


def append_question(run: AgentRun, session: Session, caller: Caller) -> None:
    question: Part = {"type": "text", "text": run.request["question"]}
    message = ChatMessage("user", (question,), external_id=_name(run, QUESTION))
    append(run.project, session, prepare(run.project, [message]), caller)


def append_outcome(run: AgentRun, session: Session, caller: Caller) -> None:
    """Store the steps of a run, and its answer if it has one."""
    messages = [
        message
        for number, step in enumerate(map(AgentStep.of_dict, run.steps))
        if not step.is_history
        for message in _step_messages(run, number, step)
    ]
    if run.answer:
        answer: Part = {"type": "text", "text": run.answer}
        messages.append(
            ChatMessage("assistant", (answer,), external_id=_name(run, "answer"))
        )
    append(run.project, session, prepare(run.project, messages), caller)


def find_outcomes(run_ids: Collection[uuid.UUID]) -> MessageQuerySet:
    """Return the messages of the steps and the answers of these runs, and their copies.

    Copies are in the forks of the sessions and in restored sessions. A caller may choose an
    external id that names a run, so a copy counts in a session of the run's user only.
    """
    runs = AgentRun.objects.filter(pk__in=run_ids)
    of_same_user = Session.objects.filter(
        Exists(
            runs.filter(project_id=OuterRef("project_id"), user_id=OuterRef("user_id"))
        )
    )
    rows: MessageQuerySet = Message.objects.filter(
        Q(session__in=runs.exclude(session_id=None).values("session_id"))
        | Q(session__in=of_same_user.values("pk")),
        external_id__startswith=NAME,
    )
    named = rows.annotate(named_run=Substr("external_id", len(NAME) + 1, UUID_LENGTH))
    is_of_run = runs.annotate(name=Cast("pk", TextField())).filter(
        Q(session_id=OuterRef("session_id")) | Q(user_id=OuterRef("session__user_id")),
        name=OuterRef("named_run"),
        project_id=OuterRef("session__project_id"),
    )
    of_runs: MessageQuerySet = named.filter(Exists(is_of_run))
    return of_runs.exclude(external_id__endswith=f" {QUESTION}")


def _step_messages(
    run: AgentRun, number: int, step: AgentStep
) -> Iterator[ChatMessage]:
    call_id = step.call_id or f"step-{number}"
    call: Part = {
        "type": "tool_call",
        "id": call_id,
        "name": step.action,
        "arguments": step.arguments,
    }
    thought: list[Part] = (
        [{"type": "text", "text": step.thought}] if step.thought else []
    )
    yield ChatMessage(
        "assistant", (*thought, call), external_id=_name(run, f"{number} call")
    )
    result: Part = {
        "type": "tool_result",
        "id": call_id,
        "name": step.action,
        "content": step.observation[:SAFE_RESULT],
        "is_error": step.is_error,
    }
    yield ChatMessage("tool", (result,), external_id=_name(run, f"{number} result"))


def _name(run: AgentRun, part: str) -> str:
    return f"{NAME}{run.pk} {part}"
