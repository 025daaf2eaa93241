"""The doors of projects, members, keys, the audit record and jobs."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any, ClassVar

from django.http import Http404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access import keys, operations
from access import serializers as shapes
from access.doors import Door, PageQuery, page_of
from access.models import ApiKey
from audit.models import AuditEvent
from common.caller import Role
from jobs.models import Job
from projects import finding, writing
from projects.models import Membership, Project
from projects.options import ProjectOptions

OWNED = {
    "GET": Role.VIEWER,
    "POST": Role.OWNER,
    "PATCH": Role.OWNER,
    "DELETE": Role.OWNER,
}


class Projects(Door):
    @extend_schema(
        operation_id="projects_list",
        summary="List the projects that you may see",
        parameters=[shapes.ListProjects],
        responses=page_of(shapes.ProjectOut),
    )
    def get(self, request: Request) -> Response:
        asked = self.query(shapes.ListProjects)
        rows = (
            Project.objects.deleted_for(self.caller).in_grace()
            if asked["deleted"]
            else Project.objects.visible_to(self.caller)
        )
        if "name" in asked:
            rows = rows.filter(name=asked["name"])
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
            project = writing.create(
                data, self.caller, organization=organization, settings=settings
            )
            return 201, shapes.ProjectOut(project).data

        return self.once(None, act)


class ProjectDoor(Door):
    """A door below /projects/{id}: reading needs a viewer, changing an owner."""

    needs: ClassVar[dict[str, Role]] = OWNED

    def named(self) -> Project:
        return self.project({"project_id": self.kwargs["project_id"]})


class OneProject(ProjectDoor):
    @extend_schema(
        operation_id="projects_read",
        summary="Read a project",
        responses=shapes.ProjectOut,
    )
    def get(self, request: Request, project_id: uuid.UUID) -> Response:
        return Response(shapes.ProjectOut(self.named()).data)

    @extend_schema(
        operation_id="projects_update",
        summary="Change a project",
        request=shapes.ChangeProject,
        responses=shapes.ProjectOut,
    )
    def patch(self, request: Request, project_id: uuid.UUID) -> Response:
        project, data = self.named(), self.body(shapes.ChangeProject)
        changed = writing.update(
            project,
            data,
            self.caller,
            settings=data.get("settings"),
            version=data.get("version"),
        )
        return Response(shapes.ProjectOut(changed).data)

    @extend_schema(
        operation_id="projects_delete",
        summary="Hide a project now and delete it in 30 days",
        responses={204: None},
    )
    def delete(self, request: Request, project_id: uuid.UUID) -> Response:
        writing.delete(self.named(), self.caller)
        return Response(status=204)


class RestoreProject(Door):
    @extend_schema(
        operation_id="projects_restore",
        summary="Bring a deleted project back",
        request=None,
        responses=shapes.ProjectOut,
    )
    def post(self, request: Request, project_id: uuid.UUID) -> Response:
        if done := self.replayed(project_id):
            return done
        project = Project.objects.deleted_for(self.caller).filter(pk=project_id).first()
        if project is None:
            raise Http404

        def act() -> tuple[int, dict[str, Any]]:
            return 200, shapes.ProjectOut(writing.restore(project, self.caller)).data

        return self.once(project_id, act)


class Settings(ProjectDoor):
    @extend_schema(
        operation_id="settings_read",
        summary="Read a project's settings, every default filled in",
        responses=ProjectOptions,
    )
    def get(self, request: Request, project_id: uuid.UUID) -> Response:
        return self.answer(self.named())

    @extend_schema(
        operation_id="settings_update",
        summary="Merge settings; null returns one to its default",
        request=OpenApiTypes.OBJECT,
        responses=ProjectOptions,
    )
    def patch(self, request: Request, project_id: uuid.UUID) -> Response:
        changes: Any = self.request.data
        changed = writing.update(self.named(), {}, self.caller, settings=changes)
        return self.answer(changed)

    @staticmethod
    def answer(project: Project) -> Response:
        return Response(project.options.model_dump(mode="json"))


class Members(ProjectDoor):
    @extend_schema(
        operation_id="members_list",
        summary="List a project's members",
        parameters=[PageQuery],
        responses=page_of(shapes.MemberOut),
    )
    def get(self, request: Request, project_id: uuid.UUID) -> Response:
        rows = Membership.objects.filter(project=self.named())
        return self.page(rows.select_related("account"), shapes.MemberOut)

    @extend_schema(
        operation_id="members_set",
        summary="Give a person a role",
        request=shapes.SetMember,
        responses={200: shapes.MemberOut},
    )
    def post(self, request: Request, project_id: uuid.UUID) -> Response:
        project, data = self.named(), self.body(shapes.SetMember)

        def act() -> tuple[int, dict[str, Any]]:
            member = writing.set_member(
                project, data["username"], data["role"], self.caller
            )
            return 200, shapes.MemberOut(member).data

        return self.once(project.pk, act)

    @extend_schema(
        operation_id="members_remove",
        summary="Take a person's role away",
        parameters=[shapes.RemoveMember],
        responses={204: None},
    )
    def delete(self, request: Request, project_id: uuid.UUID) -> Response:
        project, data = self.named(), self.query(shapes.RemoveMember)
        writing.remove_member(project, data["username"], self.caller)
        return Response(status=204)


class Keys(Door):
    @extend_schema(
        operation_id="keys_list",
        summary="List your own key and those of projects you own",
        parameters=[shapes.ListKeys],
        responses=page_of(shapes.KeyOut),
    )
    def get(self, request: Request) -> Response:
        asked = self.query(shapes.ListKeys)
        rows = ApiKey.objects.visible_to(self.caller)
        if asked["usable"]:
            rows = rows.usable()
        if "project_id" in asked:
            rows = rows.filter(projects=asked["project_id"])
        return self.page(rows.prefetch_related("projects"), shapes.KeyOut)

    @extend_schema(
        operation_id="keys_issue",
        summary="Issue a key; its secret is shown this once",
        request=shapes.IssueKey,
        responses={201: shapes.IssuedKeyOut},
    )
    def post(self, request: Request) -> Response:
        data = self.body(shapes.IssueKey)
        data["projects"] = [
            finding.project(named, self.caller) for named in data["projects"]
        ]

        def act() -> tuple[int, dict[str, Any]]:
            return 201, _shown(keys.issue(**data, caller=self.caller))

        return self.once(None, act, hidden=("secret",))


def _shown(issued: keys.Issued) -> dict[str, Any]:
    return {**shapes.KeyOut(issued.key).data, "secret": issued.secret}


class KeyDoor(Door):
    """A door below /keys/{id}."""

    def named(self) -> ApiKey:
        rows = ApiKey.objects.visible_to(self.caller)
        key = rows.filter(pk=self.kwargs["key_id"]).first()
        if key is None:
            raise Http404
        return key


class OneKey(KeyDoor):
    @extend_schema(
        operation_id="keys_read", summary="Read a key", responses=shapes.KeyOut
    )
    def get(self, request: Request, key_id: uuid.UUID) -> Response:
        return Response(shapes.KeyOut(self.named()).data)

    @extend_schema(
        operation_id="keys_revoke", summary="Revoke a key now", responses={204: None}
    )
    def delete(self, request: Request, key_id: uuid.UUID) -> Response:
        keys.revoke(self.named(), caller=self.caller)
        return Response(status=204)


class RotateKey(KeyDoor):
    @extend_schema(
        operation_id="keys_rotate",
        summary="Replace a key; the old one stays usable for a while",
        request=shapes.RotateKey,
        responses={201: shapes.IssuedKeyOut},
    )
    def post(self, request: Request, key_id: uuid.UUID) -> Response:
        key, data = self.named(), self.body(shapes.RotateKey)
        overlap = timedelta(hours=data["overlap_hours"])

        def act() -> tuple[int, dict[str, Any]]:
            return 201, _shown(keys.rotate(key, overlap, caller=self.caller))

        return self.once(None, act, hidden=("secret",))


class Audit(Door):
    @extend_schema(
        operation_id="audit_list",
        summary="Who did what, in projects that you own",
        parameters=[shapes.ListAudit],
        responses=page_of(shapes.AuditOut),
    )
    def get(self, request: Request) -> Response:
        asked = self.query(shapes.ListAudit)
        rows = AuditEvent.objects.visible_to(self.caller)
        if "project_id" in asked:
            rows = rows.filter(project_id=self.project(asked, Role.OWNER).pk)
        for name in ("verb", "actor", "object_id"):
            if name in asked:
                rows = rows.filter(**{name: asked[name]})
        if "date_from" in asked:
            rows = rows.filter(at__gte=asked["date_from"])
        if "date_to" in asked:
            rows = rows.filter(at__lte=asked["date_to"])
        return self.page(rows, shapes.AuditOut)


class Jobs(Door):
    @extend_schema(
        operation_id="jobs_list",
        summary="List jobs, newest first",
        parameters=[shapes.ListJobs],
        responses=page_of(shapes.JobOut),
    )
    def get(self, request: Request) -> Response:
        asked = self.query(shapes.ListJobs)
        rows = Job.objects.visible_to(self.caller)
        if "project_id" in asked:
            rows = rows.filter(project_id=self.project(asked).pk)
        for name in ("kind", "state"):
            if name in asked:
                rows = rows.filter(**{name: asked[name]})
        return self.page(rows, shapes.JobOut)


class JobDoor(Door):
    """A door below /jobs/{id}."""

    def named(self) -> Job:
        rows = Job.objects.visible_to(self.caller)
        job = rows.filter(pk=self.kwargs["job_id"]).first()
        if job is None:
            raise Http404
        self.asked_project = job.project_id
        return job


class OneJob(JobDoor):
    @extend_schema(
        operation_id="jobs_read", summary="Read a job", responses=shapes.JobOut
    )
    def get(self, request: Request, job_id: uuid.UUID) -> Response:
        return Response(shapes.JobOut(self.named()).data)


class JobAction(JobDoor):
    action: ClassVar[str]

    def act(self) -> Response:
        job = self.named()

        def act() -> tuple[int, dict[str, Any]]:
            done = operations.act_on(job, self.action, self.caller)
            return 200, shapes.JobOut(done).data

        return self.once(job.project_id, act)


class RetryJob(JobAction):
    action = "retry"

    @extend_schema(
        operation_id="jobs_retry",
        summary="Run a failed job again",
        request=None,
        responses=shapes.JobOut,
    )
    def post(self, request: Request, job_id: uuid.UUID) -> Response:
        return self.act()


class DiscardJob(JobAction):
    action = "discard"

    @extend_schema(
        operation_id="jobs_discard",
        summary="Take a failed job off the list of dead letters",
        request=None,
        responses=shapes.JobOut,
    )
    def post(self, request: Request, job_id: uuid.UUID) -> Response:
        return self.act()


class CancelJob(JobAction):
    action = "cancel"

    @extend_schema(
        operation_id="jobs_cancel",
        summary="End a job that waits or runs",
        request=None,
        responses=shapes.JobOut,
    )
    def post(self, request: Request, job_id: uuid.UUID) -> Response:
        return self.act()
