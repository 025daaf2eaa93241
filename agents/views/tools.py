"""Views of the agent's tools: define and read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.models import AgentTool
from agents.serializers import tools as forms
from agents.tools import definitions
from agents.tools.choose import is_offered
from agents.tools.describe import describe_tool
from agents.views.base import AgentView
from common.caller import Role

DEFINITION = {
    "project_id": "docs",
    "description": "The tickets of the support team.",
    "url": "https://tickets.example.com/mcp",
    "headers": {"Authorization": "Bearer ${AGENT_TOOL_TICKETS}"},
}
PATH_HELP = {"name": "The name of the server."}


def _fields(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the definition of a body, without its project and name."""
    return {name: data[name] for name in definitions.FIELDS}


class ToolsView(AgentView):
    @extend_schema(
        operation_id="agents_tools_list",
        summary="List the MCP servers of a project's agents",
        parameters=[forms.ListTools],
        responses=forms.AgentToolListOut,
    )
    def get(self, request: Request) -> Response:
        """The definitions by name, and what each server offered when it was last asked.

        With `group` or `state`, only the servers whose tools such a request is offered.
        """
        data = self.query(forms.ListTools)
        rows = list(
            AgentTool.objects.visible_to(self.caller, self.project(data)).order_by(
                "name"
            )
        )
        if "group" in data or "state" in data:
            group, state = data.get("group", ()), data.get("state", "")
            rows = [row for row in rows if is_offered(row, group, state)]
        return Response({"tools": [describe_tool(row) for row in rows]})

    @extend_schema(
        operation_id="agents_tools_create",
        summary="Define an MCP server whose tools agents may call",
        request=forms.CreateTool,
        responses={201: forms.AgentToolOut},
        examples=[
            OpenApiExample(
                "A request",
                value={**DEFINITION, "name": "tickets"},
                request_only=True,
            )
        ],
    )
    def post(self, request: Request) -> Response:
        """Only owners define servers. A name that is taken is a 409."""
        data = self.body(forms.CreateTool)
        project = self.project(data, Role.OWNER)

        def act() -> tuple[int, dict[str, Any]]:
            row = definitions.create_tool(
                project, data["name"], _fields(data), self.caller
            )
            return 201, forms.AgentToolOut(describe_tool(row)).data

        return self.run_once(project.pk, act)


class ToolDetailView(AgentView):
    query_methods: ClassVar[frozenset[str]] = frozenset({"GET", "DELETE"})
    path_help: ClassVar[Mapping[str, str]] = PATH_HELP

    @extend_schema(
        operation_id="agents_tools_read",
        summary="Read an MCP server of agents",
        parameters=[forms.InToolProject],
        responses=forms.AgentToolOut,
    )
    def get(self, request: Request, name: str) -> Response:
        """Its definition; the headers name variables, whose values nobody reads."""
        project = self.project(self.query(forms.InToolProject))
        row = definitions.find_tool(project, name, self.caller)
        return Response(forms.AgentToolOut(describe_tool(row)).data)

    @extend_schema(
        operation_id="agents_tools_put",
        summary="Define an MCP server, or replace its definition",
        request=forms.PutTool,
        responses=forms.AgentToolOut,
        examples=[OpenApiExample("A request", value=DEFINITION, request_only=True)],
    )
    def put(self, request: Request, name: str) -> Response:
        """The whole definition; what the body leaves out gets its default."""
        data = self.body(forms.PutTool)
        project = self.project(data, Role.OWNER)
        row = definitions.put_tool(project, name, _fields(data), self.caller)
        return Response(forms.AgentToolOut(describe_tool(row)).data)

    @extend_schema(
        operation_id="agents_tools_delete",
        summary="Delete an MCP server of agents",
        parameters=[forms.InToolProject],
        responses={204: None},
    )
    def delete(self, request: Request, name: str) -> Response:
        """Runs are no longer offered its tools; recorded runs keep their steps."""
        project = self.project(self.query(forms.InToolProject), Role.OWNER)
        definitions.delete_tool(project, name, self.caller)
        return Response(status=204)
