"""The view of the audit record."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access import serializers as shapes
from access.project_view import ProjectView
from audit.models import AuditEvent
from common.api.serializers import page_of
from common.caller import Role


class AuditListView(ProjectView):
    @extend_schema(
        operation_id="audit_list",
        summary="List who did what in projects that you own",
        parameters=[shapes.ListAudit],
        responses=page_of(shapes.AuditOut),
    )
    def get(self, request: Request) -> Response:
        query = self.query(shapes.ListAudit)
        rows = AuditEvent.objects.visible_to(self.caller)
        if "project_id" in query:
            rows = rows.filter(project_id=self.project(query, Role.OWNER).pk)
        for name in ("verb", "actor", "object_id"):
            if name in query:
                rows = rows.filter(**{name: query[name]})
        if "date_from" in query:
            rows = rows.filter(at__gte=query["date_from"])
        if "date_to" in query:
            rows = rows.filter(at__lte=query["date_to"])
        return self.page(rows, shapes.AuditOut)
