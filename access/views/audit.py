"""TODO docstring."""

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
