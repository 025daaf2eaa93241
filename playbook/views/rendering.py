"""The playbook as an agent is given it."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.doors import Door
from playbook import rendering
from playbook.serializers import rendering as render_forms


class RenderDoor(Door):
    @extend_schema(
        operation_id="playbook_render",
        parameters=[render_forms.RenderQuery],
        responses=render_forms.RenderOut,
    )
    def get(self, request: Request) -> Response:
        """The playbook as an agent is given it, inside a budget of tokens."""
        data = self.query(render_forms.RenderQuery)
        project = self.project(data)
        rendered = rendering.render(
            project, self.caller, task=data["task"], budget=data.get("token_budget")
        )
        return Response(render_forms.RenderOut(rendered).data)
