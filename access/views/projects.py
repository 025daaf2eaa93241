"""Views of projects, their settings and their members."""

from __future__ import annotations

from typing import Any, ClassVar

from django.http import Http404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access import serializers as shapes
from access.project_view import ProjectView
from common.api.serializers import PageQuery, page_of
from common.caller import Role
from projects import lifecycle, members, project_lookup
from projects.models import Membership, Project
from projects.options import ProjectOptions

OWNER_ROLES = {
    "GET": Role.VIEWER,
    "POST": Role.OWNER,
    "PATCH": Role.OWNER,
    "DELETE": Role.OWNER,
}


class ProjectAnswerView(ProjectView):
    """Base of the views that answer with a project."""

    def represent(self, project: Project) -> dict[str, Any]:
        shown: dict[str, Any] = shapes.ProjectOut(
            project, context={"caller": self.caller}
        ).data
        return shown


class ProjectListView(ProjectAnswerView):
    self_guarded: ClassVar[frozenset[str]] = frozenset(["settings"])

    @extend_schema(
        operation_id="projects_list",
        summary="List the projects that you may see",
        parameters=[shapes.ListProjects],
        responses=page_of(shapes.ProjectOut),
    )
    def get(self, request: Request) -> Response:
        query = self.query(shapes.ListProjects)
        rows = (
            Project.objects.deleted_for(self.caller).in_grace()
            if query["deleted"]
            else Project.objects.visible_to(self.caller)
        )
        if "name" in query:
            rows = rows.filter(name=query["name"])
        return self.page(rows.select_related("organization"), shapes.ProjectOut)

    @extend_schema(
        operation_id="projects_create",
        summary="Create a project",
        request=shapes.CreateProject,
        responses={201: shapes.ProjectOut},
    )
    def post(self, request: Request) -> Response:
        data = self.body(shapes.CreateProject)
        organization, settings = data.pop("organization"), data.pop("settings", None)

        def act() -> tuple[int, dict[str, Any]]:
            project = lifecycle.create(
                data, self.caller, organization=organization, settings=settings
            )
            return 201, self.represent(project)

        return self.run_once(None, act)


class OwnedProjectView(ProjectAnswerView):
    """Base of the views below /projects/{id}: viewers can read, owners can change."""

    required_roles: ClassVar[dict[str, Role]] = OWNER_ROLES

    def get_project(self) -> Project:
        return self.project({"project_id": self.kwargs["project_id"]})


class ProjectDetailView(OwnedProjectView):
    self_guarded: ClassVar[frozenset[str]] = frozenset(["settings"])
    query_methods: ClassVar[frozenset[str]] = frozenset()

    @extend_schema(
        operation_id="projects_read",
        summary="Read a project",
        responses=shapes.ProjectOut,
    )
    def get(self, request: Request, project_id: str) -> Response:
        return Response(self.represent(self.get_project()))

    @extend_schema(
        operation_id="projects_update",
        summary="Change a project",
        request=shapes.ChangeProject,
        responses=shapes.ProjectOut,
    )
    def patch(self, request: Request, project_id: str) -> Response:
        project, data = (
            self.get_project(),
            self.body(shapes.ChangeProject, row=shapes.ProjectOut),
        )
        project = lifecycle.update(
            project,
            data,
            self.caller,
            settings=data.get("settings"),
            version=data.get("version"),
        )
        return Response(self.represent(project))

    @extend_schema(
        operation_id="projects_delete",
        summary="Hide a project now and delete it after 30 days",
        responses={204: None},
    )
    def delete(self, request: Request, project_id: str) -> Response:
        lifecycle.delete(self.get_project(), self.caller)
        return Response(status=204)


class RestoreProjectView(ProjectAnswerView):
    body_methods: ClassVar[frozenset[str]] = frozenset()

    @extend_schema(
        operation_id="projects_restore",
        summary="Restore a deleted project",
        request=None,
        responses=shapes.ProjectOut,
    )
    def post(self, request: Request, project_id: str) -> Response:
        pk = project_lookup.find_id(project_id)
        if response := self.replay(pk):
            return response
        deleted = Project.objects.deleted_for(self.caller)
        project = deleted.filter(pk=pk).first() if pk else None
        if project is None:
            raise Http404

        def act() -> tuple[int, dict[str, Any]]:
            return 200, self.represent(lifecycle.restore(project, self.caller))

        return self.run_once(pk, act)


class ProjectSettingsView(OwnedProjectView):
    query_methods: ClassVar[frozenset[str]] = frozenset()

    @extend_schema(
        operation_id="settings_read",
        summary="Read a project's settings with all defaults",
        responses=ProjectOptions,
    )
    def get(self, request: Request, project_id: str) -> Response:
        return self.answer(self.get_project())

    @extend_schema(
        operation_id="settings_update",
        summary="Merge settings; null resets one to its default",
        request=OpenApiTypes.OBJECT,
        responses=ProjectOptions,
    )
    def patch(self, request: Request, project_id: str) -> Response:
        changes: Any = self.request.data
        project = lifecycle.update(
            self.get_project(), {}, self.caller, settings=changes
        )
        return self.answer(project)

    def answer(self, project: Project) -> Response:
        return Response(project.options.model_dump(mode="json"))


class ProjectMembersView(OwnedProjectView):
    query_methods: ClassVar[frozenset[str]] = frozenset({"GET", "DELETE"})

    @extend_schema(
        operation_id="members_list",
        summary="List a project's members",
        parameters=[PageQuery],
        responses=page_of(shapes.MemberOut),
    )
    def get(self, request: Request, project_id: str) -> Response:
        self.query(PageQuery)
        rows = Membership.objects.filter(project=self.get_project())
        return self.page(rows.select_related("account"), shapes.MemberOut)

    @extend_schema(
        operation_id="members_set",
        summary="Give a person a role",
        request=shapes.SetMember,
        responses={200: shapes.MemberOut},
    )
    def post(self, request: Request, project_id: str) -> Response:
        project, data = self.get_project(), self.body(shapes.SetMember)

        def act() -> tuple[int, dict[str, Any]]:
            member = members.set_role(
                project, data["username"], data["role"], self.caller
            )
            return 200, shapes.MemberOut(member).data

        return self.run_once(project.pk, act)

    @extend_schema(
        operation_id="members_remove",
        summary="Remove a member",
        parameters=[shapes.RemoveMember],
        responses={204: None},
    )
    def delete(self, request: Request, project_id: str) -> Response:
        project, data = self.get_project(), self.query(shapes.RemoveMember)
        members.remove(project, data["username"], self.caller)
        return Response(status=204)
