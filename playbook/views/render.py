"""The view that renders the playbook for an agent."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from playbook.reading import renderer
from playbook.rule_text import applicability
from playbook.serializers import render as render_forms


class RenderPlaybookView(ProjectView):
    @extend_schema(
        operation_id="playbook_render",
        parameters=[render_forms.RenderQuery],
        responses=render_forms.RenderOut,
    )
    def get(self, request: Request) -> Response:
        """Render the playbook for an agent, within a budget of tokens.

        The entries that a key gets are recorded. The agent's next finished task is
        credited with these entries.
        """
        data = self.query(render_forms.RenderQuery)
        rendered = renderer.render_for_agent(
            self.project(data),
            self.caller,
            task=data["task"],
            budget=data.get("token_budget"),
            relevant_only=data["relevant_only"],
            agent_id=data["agent_id"],
            around=applicability.read_surroundings(
                data["task"], data.get("tools", ()), data.get("files", ())
            ),
        )
        return Response(render_forms.RenderOut(rendered).data)
