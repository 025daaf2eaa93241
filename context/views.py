"""Views of the file graph and of the task context."""

from __future__ import annotations

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from common import replicas
from common.caller import Role
from context import file_graph, task_context
from context import serializers as forms
from context.task_context import AtHand
from memories import scopes
from memories.read.recalls import note_recalled


class FileGraphView(ProjectView):
    @extend_schema(
        operation_id="files_graph",
        parameters=[forms.GraphQuery],
        responses=forms.GraphOut,
    )
    def get(self, request: Request) -> Response:
        """The knowledge graph of a file."""
        data = self.query(forms.GraphQuery)
        project = self.project(data)
        graph = replicas.read_from_replica(
            lambda: file_graph.build(project, data["path"], self.caller)
        )
        extra = {"caller": self.caller}
        return Response(forms.GraphOut(graph, context=extra).data)


class TaskContextView(ProjectView):
    idempotent_methods: ClassVar[frozenset[str]] = frozenset()  # it only reads

    @extend_schema(
        operation_id="context_task",
        request=forms.TaskContextRequest,
        responses=forms.TaskContextOut,
    )
    def post(self, request: Request) -> Response:
        """The best memories, playbook entries and files for a task."""
        data = self.body(forms.TaskContextRequest)
        project = self.project(data, Role.VIEWER)
        context = replicas.read_from_replica(
            lambda: task_context.for_task(
                project,
                data["task_description"],
                self.caller,
                top_k=data.get("top_k"),
                token_budget=data.get("token_budget"),
                agent_id=data["agent_id"],
                cutoff=data["cutoff"],
                at_hand=AtHand(
                    tools=tuple(data["tools"]),
                    files=tuple(data["files"]),
                    scopes=scopes.read_too(data.get("scope"), project, self.caller),
                ),
                session=data["session"],
                branch=data["branch"],
                with_card=data["card"],
            )
        )
        note_recalled(item.hit.memory for item in context.memories)
        return Response(forms.TaskContextOut(context).data)
