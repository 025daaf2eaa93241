"""Start a run: check what it needs, and store its row before the first step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import structlog
from django.db import transaction

from access import idempotency
from agents.models import AgentRun
from agents.runs.agent_request import AgentRequest
from agents.runs.conversation import append_question
from agents.runs.slots import refuse_too_many
from audit import trail
from common import errors
from common.caller import Caller, Role
from common.db import write
from conversations.invocations.record import AGENT, begin_conversation
from conversations.invocations.switch import is_memory_on
from conversations.messages.append import TooManyMessages
from conversations.models import Session
from conversations.sessions.lifecycle import TooManySessions, resolve_user
from projects import model_access, secret_policy
from projects.models import Project

R = TypeVar("R")

log = structlog.get_logger(__name__)


class NoLanguageModel(errors.Refusal):
    """There is no language model for this project; set LANGUAGE_PROVIDER, LANGUAGE_URL and
    LANGUAGE_MODEL, and `language.enabled` of the project.
    """

    status = 503
    code = "no_language_model"


def start_run(
    project: Project,
    request: AgentRequest,
    caller: Caller,
    *,
    identity: idempotency.RequestIdentity | None = None,
    status: AgentRun.RunStatus = AgentRun.RunStatus.RUNNING,
) -> tuple[AgentRun, bool]:
    """Store a run, and return it and whether it is new.

    With an `identity`, a repeated request gets the run of the first one. The question is
    stored in the session of the conversation.
    """
    caller.require(Role.WRITER, project.pk)
    if identity and (earlier := find_earlier(identity)):
        return earlier, False
    require_model(project)
    user = resolve_user(request.user, caller)
    stored, _ = secret_policy.guard(project.options.secrets, request.to_dict())
    masked = replace(AgentRequest.of_dict(stored), history=request.history, user=user)
    return _store(project, masked, caller, identity, status)


def require_model(project: Project) -> None:
    """Refuse if the project has no language model."""
    if not model_access.is_enabled(project):
        raise NoLanguageModel


def find_earlier(identity: idempotency.RequestIdentity) -> AgentRun | None:
    """Return the run that the request began before; raise NotFound if it was purged."""
    stored = idempotency.replay(identity)
    if stored is None:
        return None
    found: AgentRun | None = AgentRun.objects.filter(pk=stored.body["run_id"]).first()
    if found is None:
        raise errors.NotFound("The run of this Idempotency-Key was purged.")
    return found


@write
def _store(
    project: Project,
    request: AgentRequest,
    caller: Caller,
    identity: idempotency.RequestIdentity | None,
    status: AgentRun.RunStatus,
) -> tuple[AgentRun, bool]:
    run = AgentRun(
        project=project,
        conversation_id=request.conversation_id,
        user_id=request.user,
        agent_id=caller.agent_id or AGENT,
        actor=caller.name[:200],
        key_id=caller.key_id,
        account_id=caller.account_id,
        is_attested=caller.attests_in(project.pk),
        request=request.to_dict(),
        steps=[step.to_dict() for step in request.history],
        status=status,
    )
    claim = {"run_id": str(run.pk)}
    if identity and idempotency.claim(identity, claim) is None:
        earlier = find_earlier(identity)
        assert earlier  # `claim` waits for a transaction that claims the same key
        return earlier, False
    refuse_too_many(project)
    session = _unless_full(run, lambda: _begin_session(project, request, run, caller))
    run.session_id = session.pk if session else None
    run.has_memory = request.enable_memory and is_memory_on(
        project, request.user, session
    )
    if session and run.has_memory:
        _unless_full(run, lambda: append_question(run, session, caller))
    run.save(force_insert=True)
    trail.record(
        caller,
        "agent.run",
        project_id=project.pk,
        object_type="agent_run",
        object_id=run.pk,
        agent=run.agent_id,
    )
    return run, True


def _unless_full(run: AgentRun, store: Callable[[], R]) -> R | None:
    """Store a part of a conversation; without room the run goes on, and says so."""
    try:
        with transaction.atomic():
            return store()
    except (TooManySessions, TooManyMessages) as refusal:
        log.warning("agent_messages_refused", run_id=str(run.pk), code=refusal.code)
        run.memory = {"error": f"The conversation is not stored: {refusal.detail}"}
        return None


def _begin_session(
    project: Project, request: AgentRequest, run: AgentRun, caller: Caller
) -> Session | None:
    """Return the session of the conversation; a run without memory has none."""
    if not (request.enable_memory and request.conversation_id):
        return None
    return begin_conversation(
        project, request.conversation_id, request.user, caller, agent_id=run.agent_id
    )
