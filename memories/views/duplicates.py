"""Unmark duplicates, decide possible duplicates, and scan a project for duplicates."""

from __future__ import annotations

import uuid
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from common import errors
from common.api.serializers import page_of
from common.caller import Role
from jobs.models import Job
from memories.duplicates import decide, scan
from memories.lifecycle import lookup
from memories.models import (
    DuplicateFinding,
    Memory,
    PossibleDuplicate,
)
from memories.serializers import duplicates as duplicate_forms
from memories.serializers import fields
from memories.serializers import memories as memory_forms
from memories.views.answers import MemoryRowView, answer_once


class UnmarkDuplicateView(MemoryRowView):
    @extend_schema(
        operation_id="memories_unmark_duplicate",
        request=fields.Note,
        responses=memory_forms.MemoryDetail,
    )
    def post(self, request: Request, memory_id: uuid.UUID) -> Response:
        """Unmark a duplicate. The memory is never marked as a duplicate again."""
        data = self.body(fields.Note)

        def unmark() -> Memory:
            memory = lookup.get_memory(memory_id, self.caller, Role.CURATOR)
            return decide.unmark(memory, self.caller, note=data["note"])

        return answer_once(self, memory_id, unmark)


class PossibleDuplicatesView(ProjectView):
    @extend_schema(
        operation_id="possible_duplicates_list",
        parameters=[duplicate_forms.PossibleDuplicateQuery],
        responses=page_of(duplicate_forms.PossibleDuplicateOut),
    )
    def get(self, request: Request) -> Response:
        """List pairs of similar memories for a person to decide."""
        data = self.query(duplicate_forms.PossibleDuplicateQuery)
        project = self.project(data)
        rows = PossibleDuplicate.objects.visible_to(self.caller).filter(
            project=project, state=data["state"]
        )
        if data["state"] == PossibleDuplicate.PairState.OPEN:
            rows = rows.undecided()
        return self.page(rows.in_full(), duplicate_forms.PossibleDuplicateOut)


class DecidePairView(ProjectView):
    """Merge the two memories of a possible duplicate, or keep both."""

    verdict: str = ""

    def post(self, request: Request, pair_id: uuid.UUID) -> Response:
        pairs = PossibleDuplicate.objects.visible_to(self.caller)
        pair = pairs.filter(pk=pair_id).first()
        if pair is None:
            raise errors.NotFound
        self.audited_project = pair.project_id
        data = self.body(fields.Note)
        self.caller.require(Role.CURATOR, pair.project_id)

        def act() -> tuple[int, dict[str, Any]]:
            decide.decide(pair, self.verdict, self.caller, note=data["note"])
            decided = pairs.in_full().get(pk=pair_id)
            return 200, duplicate_forms.PossibleDuplicateOut(decided).data

        return self.run_once(pair.project_id, act)


class MergePairView(DecidePairView):
    verdict = "merged"

    @extend_schema(
        operation_id="possible_duplicates_merge",
        request=fields.Note,
        responses=duplicate_forms.PossibleDuplicateOut,
    )
    def post(self, request: Request, pair_id: uuid.UUID) -> Response:
        """Mark the newer memory as a duplicate of the other one."""
        return super().post(request, pair_id)


class KeepPairView(DecidePairView):
    verdict = "kept_both"

    @extend_schema(
        operation_id="possible_duplicates_keep",
        request=fields.Note,
        responses=duplicate_forms.PossibleDuplicateOut,
    )
    def post(self, request: Request, pair_id: uuid.UUID) -> Response:
        """Keep both memories. Neither is marked, and the pair counts as decided."""
        return super().post(request, pair_id)


class DeduplicationsView(ProjectView):
    @extend_schema(
        operation_id="deduplications_start",
        request=duplicate_forms.StartDeduplication,
        responses={202: duplicate_forms.DeduplicationOut},
    )
    def post(self, request: Request) -> Response:
        """Start a scan for duplicates. Without `apply`, the scan only reports the pairs."""
        data = self.body(duplicate_forms.StartDeduplication)
        project = self.project(data, Role.CURATOR)

        def act() -> tuple[int, dict[str, Any]]:
            job = scan.start(
                project,
                self.caller,
                threshold=data.get("threshold"),
                apply=data["apply"],
            )
            return 202, report(job, self)

        return self.run_once(project.pk, act)


class DeduplicationView(ProjectView):
    @extend_schema(
        operation_id="deduplications_read",
        parameters=[duplicate_forms.FindingsQuery],
        responses=duplicate_forms.DeduplicationOut,
    )
    def get(self, request: Request, job_id: uuid.UUID) -> Response:
        """Show the progress of a scan, and a page of the pairs that the scan found."""
        jobs = Job.objects.visible_to(self.caller)
        job = jobs.filter(pk=job_id, kind=scan.KIND).first()
        if job is None:
            raise errors.NotFound
        return Response(report(job, self, **self.query(duplicate_forms.FindingsQuery)))


def report(
    job: Job, view: ProjectView, *, after: uuid.UUID | None = None, limit: int = 1000
) -> dict[str, Any]:
    rows = DuplicateFinding.objects.visible_to(view.caller).filter(job_id=job.pk)
    if after:
        rows = rows.filter(pk__gt=after)
    pairs = list(rows.order_by("pk")[: limit + 1])
    more = len(pairs) > limit
    return duplicate_forms.DeduplicationOut(
        {
            "id": job.pk,
            "project_id": job.project_id,
            "state": job.state,
            "progress": job.progress,
            "threshold": job.args["threshold"],
            "apply": job.args["apply"],
            "result": job.result,
            "error": job.error,
            "created_at": job.created_at,
            "finished_at": job.finished_at,
            "pairs": pairs[:limit],
            "pairs_after": pairs[limit - 1].pk if more else None,
        }
    ).data
