"""Views of jobs: list, read, retry, discard, cancel."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access import job_actions
from access import serializers as shapes
from access.project_view import ProjectView
from common.api.serializers import page_of
from jobs.models import Job


class JobListView(ProjectView):
    @extend_schema(
        operation_id="jobs_list",
        summary="List jobs, newest first",
        parameters=[shapes.ListJobs],
        responses=page_of(shapes.JobOut),
    )
    def get(self, request: Request) -> Response:
        query = self.query(shapes.ListJobs)
        rows = Job.objects.visible_to(self.caller)
        if "project_id" in query:
            rows = rows.filter(project_id=self.project(query).pk)
        for name in ("kind", "state"):
            if name in query:
                rows = rows.filter(**{name: query[name]})
        return self.page(rows, shapes.JobOut)


class JobView(ProjectView):
    """Base of the views below /jobs/{id}."""

    def get_job(self) -> Job:
        rows = Job.objects.visible_to(self.caller)
        job = rows.filter(pk=self.kwargs["job_id"]).first()
        if job is None:
            raise Http404
        self.audited_project = job.project_id
        return job


class JobDetailView(JobView):
    query_methods: ClassVar[frozenset[str]] = frozenset()

    @extend_schema(
        operation_id="jobs_read", summary="Read a job", responses=shapes.JobOut
    )
    def get(self, request: Request, job_id: uuid.UUID) -> Response:
        return Response(shapes.JobOut(self.get_job()).data)


class JobActionView(JobView):
    body_methods: ClassVar[frozenset[str]] = frozenset()
    action: ClassVar[str]

    def act(self) -> Response:
        job = self.get_job()

        def act() -> tuple[int, dict[str, Any]]:
            updated = job_actions.perform(job, self.action, self.caller)
            return 200, shapes.JobOut(updated).data

        return self.run_once(job.project_id, act)


class RetryJobView(JobActionView):
    action = "retry"

    @extend_schema(
        operation_id="jobs_retry",
        summary="Run a failed job again",
        request=None,
        responses=shapes.JobOut,
    )
    def post(self, request: Request, job_id: uuid.UUID) -> Response:
        return self.act()


class DiscardJobView(JobActionView):
    action = "discard"

    @extend_schema(
        operation_id="jobs_discard",
        summary="Remove a failed job from the list of dead letters",
        request=None,
        responses=shapes.JobOut,
    )
    def post(self, request: Request, job_id: uuid.UUID) -> Response:
        return self.act()


class CancelJobView(JobActionView):
    action = "cancel"

    @extend_schema(
        operation_id="jobs_cancel",
        summary="Cancel a job that waits or runs",
        request=None,
        responses=shapes.JobOut,
    )
    def post(self, request: Request, job_id: uuid.UUID) -> Response:
        return self.act()
