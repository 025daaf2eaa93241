"""Views of the file graph, and of the one context."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from ace.repairs import fix_example
from ace.task import task as tasks
from common import replicas
from common.api.serializers import represent
from common.caller import Caller, Role
from context import context, file_graph
from context import serializers as forms
from context.context import ContextRequest
from context.task_context import AtHand
from memories import scopes
from memories.read.recalls import note_recalled
from projects.models import Project


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


class ContextView(ProjectView):
    idempotent_methods: ClassVar[frozenset[str]] = frozenset()  # it only reads

    @extend_schema(
        operation_id="context",
        request=forms.ContextIn,
        responses=forms.KnownContextOut,
        examples=[fix_example.REQUEST, fix_example.ANSWER],
    )
    def post(self, request: Request) -> Response:
        """What is known of a task, a prompt or a failed call, part by part."""
        data = self.body(forms.ContextIn)
        project = self.project(data, Role.VIEWER)
        asked = _read_request(data, project, self.caller)
        found = replicas.read_from_replica(
            lambda: context.find(project, asked, self.caller)
        )
        note_recalled(found.memories)
        return Response(represent(forms.KnownContextOut, found))


def _read_request(
    data: Mapping[str, Any], project: Project, caller: Caller
) -> ContextRequest:
    named = [*filter(None, [data.get("scope")]), *data.get("scopes", ())]
    failed = data.get("failed")
    return ContextRequest(
        query=data["query"],
        parts=data["parts"],
        limit=data.get("limit"),
        token_budget=data.get("token_budget"),
        agent_id=data["agent_id"],
        session=data["session"],
        branch=data["branch"],
        cutoff=data["cutoff"],
        at_hand=AtHand(
            tools=tuple(data["tools"]),
            files=tuple(data["files"]),
            scopes=scopes.read_too(data.get("scope"), project, caller),
        ),
        scopes=[scopes.resolve(one, project, caller) for one in named],
        overrides=data.get("overrides"),
        failed_call=tasks.parse_failed_call(failed) if failed else None,
    )
