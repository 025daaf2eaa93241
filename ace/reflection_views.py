"""Views by which a person's own agent reads a record in the place of the server's model."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from ace.lessons import reflections
from ace.lessons.question import Question
from ace.models import ModelReflection
from common import errors
from common.api.serializers import InProject
from common.caller import Role
from inference.language import schemas


class NextReflectionQuery(InProject):
    pass


class ReflectionTask(serializers.Serializer[Any]):
    """What to ask a language model, and until when the answer is awaited."""

    id = serializers.UUIDField()
    part = serializers.IntegerField(help_text="Send it back with the answer.")
    of = serializers.IntegerField(help_text="The record has so many parts.")
    session = serializers.CharField(help_text="Empty for a finished task.")
    system = serializers.CharField(help_text="The instructions.")
    prompt = serializers.CharField(help_text="The record and the rules so far.")
    schema = serializers.JSONField(help_text="JSON Schema of the answer.")
    lease_until = serializers.DateTimeField()


class ReflectionAnswerIn(serializers.Serializer[Any]):
    part = serializers.IntegerField(min_value=1, max_value=1_000)
    answer = serializers.JSONField(help_text="What the model answered, by `schema`.")
    model = serializers.CharField(
        max_length=100,
        default="agent",
        help_text="The model, or the agent that asked it.",
    )


class ModelReflectionOut(serializers.ModelSerializer[ModelReflection]):
    session = serializers.SerializerMethodField()
    run_id = serializers.UUIDField(allow_null=True)

    class Meta:
        model = ModelReflection
        fields = (
            *("id", "session", "run_id", "first_seq", "last_seq", "state", "model"),
            *("parts_done", "results", "created_at", "finished_at"),
        )

    def get_session(self, row: ModelReflection) -> str:
        return row.session.key if row.session else ""


class NextReflectionView(ProjectView):
    @extend_schema(
        operation_id="reflections_next",
        parameters=[NextReflectionQuery],
        responses={
            200: ReflectionTask,
            204: OpenApiResponse(description="Nothing waits."),
        },
    )
    def get(self, request: Request) -> Response:
        """Lease the oldest record of yours that no model has read yet.

        Ask a language model with `system` and `prompt`, and PUT its answer before
        `lease_until`; until then nobody else gets it.
        """
        project = self.project(self.query(NextReflectionQuery), Role.WRITER)
        while row := reflections.lease_next(project, self.caller):
            if question := reflections.question_for(row):
                return Response(ReflectionTask(_task(row, question)).data)
            reflections.close(row)
        return Response(status=204)


class ReflectionView(ProjectView):
    query_methods: ClassVar[frozenset[str]] = frozenset()

    @extend_schema(operation_id="reflections_read", responses=ModelReflectionOut)
    def get(self, request: Request, reflection_id: uuid.UUID) -> Response:
        """A reflection: whether it waits, and what its answer taught."""
        return Response(ModelReflectionOut(self._find(reflection_id, Role.VIEWER)).data)

    @extend_schema(
        operation_id="reflections_put",
        request=ReflectionAnswerIn,
        responses=ModelReflectionOut,
    )
    def put(self, request: Request, reflection_id: uuid.UUID) -> Response:
        """Answer a leased reflection; the same answer again changes nothing."""
        data = self.body(ReflectionAnswerIn)
        row = self._find(reflection_id, Role.WRITER)
        if row.person not in self.caller.own_names:
            raise errors.NotFound  # it is for the agents of its own person
        answered = reflections.answer(
            row,
            data["part"],
            data["answer"],
            model=data["model"],
            holder=reflections.holder_of(self.caller),
        )
        return Response(ModelReflectionOut(answered).data)

    def _find(self, reflection_id: uuid.UUID, role: Role) -> ModelReflection:
        rows = ModelReflection.objects.visible_to(self.caller)
        row = rows.select_related("project", "session", "run").filter(pk=reflection_id)
        found: ModelReflection | None = row.first()
        if found is None:
            raise errors.NotFound
        self.audited_project = found.project_id
        self.caller.require(role, found.project_id)
        return found


def _task(row: ModelReflection, question: Question) -> dict[str, Any]:
    return {
        "id": row.pk,
        "part": question.part.number,
        "of": question.part.of,
        "session": row.session.key if row.session else "",
        "system": question.prompt.text,
        "prompt": question.text,
        "schema": schemas.strict_schema(question.shape),
        "lease_until": row.lease_until,
    }
