"""Ask the agent; read, list, follow, confirm and cancel its runs."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any, ClassVar

from django.http import HttpResponseBase, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.loop.events import AgentEvent
from agents.models import AgentRun
from agents.runs import run_job
from agents.runs.agent_request import AgentRequest
from agents.runs.background import BackgroundRun
from agents.runs.callers import caller_of
from agents.runs.confirm import ConfirmationAnswer, confirm
from agents.runs.execute import execute
from agents.runs.follow import follow
from agents.runs.messages import answer_of, write_events
from agents.runs.start import start_run
from agents.runs.streams import EventStream, count_stream
from agents.serializers import runs as forms
from agents.steps import AgentStep
from agents.views.base import AgentView
from common import errors
from common.api.serializers import page_of
from common.caller import Role

EVENT_STREAM = "text/event-stream"
PREFER = OpenApiParameter(
    "Prefer",
    str,
    OpenApiParameter.HEADER,
    description="`respond-async`: answer 202 at once; a job runs the agent.",
)
EXAMPLE = OpenApiExample(
    "A question in a conversation, with memory",
    value={
        "collection": "docs",
        "question": "Why did the last deploy fail?",
        "user": "42",
        "conversation_id": "deploys",
        "enable_memory": True,
    },
    request_only=True,
)
Status = AgentRun.RunStatus


class LoopView(AgentView):
    """Answers with the whole of a run, with its stream, or with the job that runs it."""

    def answer_run(
        self,
        run: AgentRun,
        events: Callable[..., Iterator[AgentEvent]],
        stream: ExitStack | None,
    ) -> HttpResponseBase:
        """Run the loop, and stream its events or answer with the whole run."""
        if stream is None:
            for _ in events():
                pass
            return self.show_run(run)
        background = BackgroundRun(lambda should_stop: events(should_stop=should_stop))
        stream.callback(background.close)
        return event_response(run, background.read(), stream)

    def show_run(self, run: AgentRun) -> Response:
        return Response(answer_of(run))

    def accept(self, request: Request, run: AgentRun) -> Response:
        location = request.build_absolute_uri(f"/api/v1/agents/runs/{run.pk}")
        return Response(answer_of(run), 202, headers={"Location": location})


class ReactMemView(LoopView):
    @extend_schema(
        operation_id="agents_react_mem",
        summary="Ask the agent",
        request=forms.AgentRequestIn,
        parameters=[PREFER],
        responses={
            200: forms.AgentResponseOut,
            202: forms.AgentResponseOut,
            (200, EVENT_STREAM): OpenApiTypes.STR,
        },
        examples=[EXAMPLE],
    )
    def post(self, request: Request) -> HttpResponseBase:
        """Run the agent until it answers, fails, or needs a confirmation.

        With `streaming`, the answer is a stream of server-sent events `thought`, `action`,
        `observation`, `answer`, `confirm` and `error`, each `{message_type, content,
        end_of_message, end_of_dialog, message_id}`. With `Prefer: respond-async`, a job runs
        the agent, and `GET /agents/runs/{id}/events` follows it.
        """
        data = self.body(forms.AgentRequestIn)
        project = self.project(data)
        is_async = _is_async(request)
        with ExitStack() as stream:
            is_streamed = data["streaming"] and not is_async
            if is_streamed:
                stream.callback(count_stream(self.caller))
            run, is_new = start_run(
                project,
                _request_of(data),
                self.caller,
                identity=self.request_identity(project.pk),
                status=Status.QUEUED if is_async else Status.RUNNING,
            )
            if not is_new:
                return self.show_run(run)
            if is_async:
                run_job.run_later(run)
                return self.accept(request, run)
            events = partial(execute, run, self.caller)
            return self.answer_run(run, events, stream if is_streamed else None)


class ConfirmRunView(LoopView):
    # The first answer counts.
    idempotent_methods: ClassVar[frozenset[str]] = frozenset()
    path_help: ClassVar[Mapping[str, str]] = {"run_id": "The run."}

    @extend_schema(
        operation_id="agents_runs_confirm",
        summary="Allow or forbid a call that waits",
        request=forms.ConfirmIn,
        parameters=[PREFER],
        responses={
            200: forms.AgentResponseOut,
            202: forms.AgentResponseOut,
            (200, EVENT_STREAM): OpenApiTypes.STR,
        },
    )
    def post(self, request: Request, run_id: uuid.UUID) -> HttpResponseBase:
        """Let the run go on; a forbidden call becomes an observation.

        The run goes on with the rights of the caller who began it. The answer has the forms
        of `POST /agents/react-mem`.
        """
        data = self.body(forms.ConfirmIn)
        is_async = _is_async(request)
        with ExitStack() as stream:
            is_streamed = data["streaming"] and not is_async
            if is_streamed:
                stream.callback(count_stream(self.caller))
            answer = confirm(
                find_run(self, run_id, Role.WRITER),
                self.caller,
                is_allowed=data["allow"],
                status=Status.QUEUED if is_async else Status.RUNNING,
            )
            run = answer.run
            if is_async:
                run_job.run_later(
                    run,
                    allowed_call=answer.allowed_call,
                    forbidden_call=answer.forbidden_call,
                )
                return self.accept(request, run)
            return self.answer_run(
                run, _events_after(answer), stream if is_streamed else None
            )


class RunsView(AgentView):
    @extend_schema(
        operation_id="agents_runs_list",
        summary="List runs, the newest first",
        parameters=[forms.RunListQuery],
        responses=page_of(forms.AgentRunOut),
    )
    def get(self, request: Request) -> Response:
        """Runs that you may see, the newest first."""
        data = self.query(forms.RunListQuery)
        project = self.project(data)
        rows = AgentRun.objects.visible_to(self.caller, project)
        filters = {"user_id": "user", "conversation_id": "conversation_id"}
        for column, name in filters.items():
            if name in data:
                rows = rows.filter(**{column: data[name]})
        return self.page(rows, RunRow)


class RunRow(forms.AgentRunOut):
    """A run as a list writes it."""

    def to_representation(self, instance: AgentRun) -> dict[str, Any]:
        return super().to_representation(describe(instance))


class RunView(AgentView):
    query_methods: ClassVar[frozenset[str]] = frozenset()
    path_help: ClassVar[Mapping[str, str]] = {"run_id": "The run."}

    @extend_schema(
        operation_id="agents_runs_read",
        summary="Read a run",
        responses=forms.AgentRunOut,
    )
    def get(self, request: Request, run_id: uuid.UUID) -> Response:
        """A run with its steps so far, what memory it was given, and what it taught."""
        run = find_run(self, run_id, Role.VIEWER)
        return Response(forms.AgentRunOut(describe(run)).data)

    @extend_schema(
        operation_id="agents_runs_delete",
        summary="Cancel a run",
        responses={200: forms.AgentRunOut},
    )
    def delete(self, request: Request, run_id: uuid.UUID) -> Response:
        """End a run; one that a process works on stops at its next step. The row stays."""
        run = find_run(self, run_id, Role.WRITER)
        run_job.cancel_run(run, self.caller)
        return Response(forms.AgentRunOut(describe(run)).data)


class RunEventsView(AgentView):
    query_methods: ClassVar[frozenset[str]] = frozenset()
    path_help: ClassVar[Mapping[str, str]] = {"run_id": "The run."}

    @extend_schema(
        operation_id="agents_runs_events",
        summary="Follow a run",
        responses={(200, EVENT_STREAM): OpenApiTypes.STR},
    )
    def get(self, request: Request, run_id: uuid.UUID) -> HttpResponseBase:
        """Stream the steps that the run has and those that come, until it ends or waits."""
        run = find_run(self, run_id, Role.VIEWER)
        with ExitStack() as stream:
            stream.callback(count_stream(self.caller))
            return event_response(run, follow(run), stream)


def event_response(
    run: AgentRun, events: AsyncIterator[AgentEvent | None], stream: ExitStack
) -> StreamingHttpResponse:
    """Stream the events; what `stream` holds is ended with the response."""
    response = StreamingHttpResponse(
        EventStream(write_events(run, events), stream.pop_all().close),
        content_type=EVENT_STREAM,
    )
    response["X-Accel-Buffering"] = "no"
    response["Location"] = f"/api/v1/agents/runs/{run.pk}"
    return response


def describe(run: AgentRun) -> dict[str, Any]:
    """Return what GET answers of a run."""
    return {
        **answer_of(run),
        "request": run.request,
        "agent_id": run.agent_id,
        "learned": run.learned,
        "created_at": run.created_at,
        "ended_at": run.ended_at,
    }


def find_run(view: AgentView, run_id: uuid.UUID, role: Role) -> AgentRun:
    rows = AgentRun.objects.visible_to(view.caller).select_related("project")
    run: AgentRun | None = rows.filter(pk=run_id).first()
    if run is None:
        raise errors.NotFound
    view.audited_project = run.project_id
    view.caller.require(role, run.project_id)
    return run


def _events_after(answer: ConfirmationAnswer) -> Callable[..., Iterator[AgentEvent]]:
    return partial(
        execute,
        answer.run,
        caller_of(answer.run),
        allowed_call=answer.allowed_call,
        forbidden_call=answer.forbidden_call,
    )


def _is_async(request: Request) -> bool:
    return "respond-async" in request.headers.get("Prefer", "")


def _request_of(data: Mapping[str, Any]) -> AgentRequest:
    history = tuple(AgentStep(**step, is_history=True) for step in data["history"])
    names = (
        "question",
        "state",
        "user",
        "conversation_id",
        "enable_memory",
        "streaming",
        "max_iterations",
        "task",
    )
    return AgentRequest(
        group=tuple(data["group"]),
        history=history,
        **{name: data[name] for name in names},
    )
