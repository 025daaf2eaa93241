"""Read, create and delete projects as mem0's client asks for it."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework.request import Request
from rest_framework.response import Response

from common import errors
from common.caller import Role
from mcp_server.mem0 import answers
from mcp_server.mem0 import serializers as forms
from mcp_server.mem0.refusals import MissingFeature
from mcp_server.mem0.views.view import Mem0View
from projects import lifecycle
from projects.models import Project

SETTINGS = (
    "The settings of a project here are others; an owner changes them with "
    "PATCH /api/v1/projects/{id}/settings."
)


class OrganizationView(Mem0View):
    """The base of the views whose address names an organization."""

    required_roles: ClassVar[dict[str, Role]] = {
        "GET": Role.VIEWER,
        "POST": Role.VIEWER,  # `lifecycle.create` says who may
        "PATCH": Role.OWNER,
        "DELETE": Role.OWNER,
    }

    def organized_project(self, org_id: str) -> Project:
        project = self.door_project
        if org_id != str(project.organization_id):
            raise errors.NotFound(
                "There is no such organization, or you may not see it."
            )
        return project


class Mem0ProjectsView(OrganizationView):
    def post(self, request: Request, org_id: str, **kwargs: Any) -> Response:
        data = self.body(forms.NewProject)
        organization = self.organized_project(org_id).organization

        def act() -> tuple[int, dict[str, Any]]:
            project = lifecycle.create(
                data, self.caller, organization=organization.slug
            )
            return 200, answers.represent_project(project)

        return self.run_once(None, act)


class Mem0ProjectView(OrganizationView):
    def get(self, request: Request, org_id: str, **kwargs: Any) -> Response:
        query = self.query(forms.ProjectQuery)
        path = {"org_id": org_id, "project_id": kwargs["project_id"]}
        if other := [
            name for name in path if query.get(name, path[name]) != path[name]
        ]:
            message = "It differs from the path; leave it out."
            raise errors.Invalid(errors={name: [message] for name in other})
        chosen = query.get("fields")
        shown = answers.represent_project(self.organized_project(org_id))
        return Response({k: v for k, v in shown.items() if not chosen or k in chosen})

    def patch(self, request: Request, org_id: str, **kwargs: Any) -> Response:
        self.organized_project(org_id)
        raise MissingFeature(SETTINGS)

    def delete(self, request: Request, org_id: str, **kwargs: Any) -> Response:
        lifecycle.delete(self.organized_project(org_id), self.caller)
        return Response({"message": "Project deleted successfully!"})
