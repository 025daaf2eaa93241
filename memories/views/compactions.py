"""Plan, start and list compactions by policy, and read the quotas."""

from __future__ import annotations

from itertools import islice
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from access.serializers import JobOut
from common.api.serializers import InProject, page_of
from common.caller import Role
from memories.retention import compact, compaction_policy, prune
from memories.serializers import compactions as forms
from memories.store import quotas

MAX_GROUPS = 100  # maximum number of groups in the answer


class CompactionPlanView(ProjectView):
    @extend_schema(
        operation_id="compactions_plan",
        parameters=[forms.PlanQuery],
        responses=forms.PlanOut,
    )
    def get(self, request: Request) -> Response:
        """Show what the project's policy would compact and prune now. Nothing is changed."""
        data = self.query(forms.PlanQuery)
        project = self.project(data)
        pruned = prune.plan_pruning(
            project, self.caller, data.get("prune_after_days")
        ).values_list("pk", flat=True)
        groups = list(
            islice(compaction_policy.plan(project, self.caller), MAX_GROUPS + 1)
        )
        plan = {
            "policy": project.options.compaction.model_dump(),
            "groups": groups[:MAX_GROUPS],
            "more": len(groups) > MAX_GROUPS,
            "unrecalled": {"count": pruned.count(), "ids": list(pruned[:MAX_GROUPS])},
        }
        return Response(forms.PlanOut(plan).data)


class CompactionsView(ProjectView):
    @extend_schema(
        operation_id="compactions_start",
        request=InProject,
        responses={202: JobOut},
    )
    def post(self, request: Request) -> Response:
        """Start a compaction by the policy, whether or not the schedule is enabled."""
        project = self.project(self.body(InProject), Role.CURATOR)

        def act() -> tuple[int, dict[str, Any]]:
            return 202, JobOut(compaction_policy.start(project, self.caller)).data

        return self.run_once(project.pk, act)

    @extend_schema(
        operation_id="compactions_list",
        parameters=[forms.CompactionsQuery],
        responses=page_of(forms.CompactionOut),
    )
    def get(self, request: Request) -> Response:
        """List past compactions with their time and actor, newest first."""
        project = self.project(self.query(forms.CompactionsQuery))
        return self.page(
            compact.list_compactions(project, self.caller), forms.CompactionOut
        )


class QuotasView(ProjectView):
    @extend_schema(
        operation_id="quotas_read",
        parameters=[InProject],
        responses=forms.UsageOut,
    )
    def get(self, request: Request) -> Response:
        """Show the quotas of a project with their use."""
        project = self.project(self.query(InProject))
        used = quotas.usage(project, self.caller)
        return Response(forms.UsageOut({"quotas": used}).data)
