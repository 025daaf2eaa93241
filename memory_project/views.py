"""Health, metrics, the schema and its pages."""

from __future__ import annotations

from typing import Any, ClassVar

from csp.decorators import csp_update
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_safe
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularJSONAPIView, SpectacularSwaggerSplitView
from prometheus_client import CONTENT_TYPE_LATEST
from rest_framework import serializers
from rest_framework.request import Request

from access.permissions import IsCallerOrLoopback
from access.project_view import ProjectView
from memory_project import health, metrics


@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """Answer without database, broker or key, as long as the process runs."""
    return JsonResponse({"status": "ok"})


@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    report = health.report()
    answer = {
        "status": "ready" if report.is_ready else "not ready",
        "reason": report.reason,
        "checks": {name: check.answer for name, check in report.checks.items()},
    }
    return JsonResponse(answer, status=200 if report.is_ready else 503)


class MetricsView(ProjectView):
    permission_classes = [IsCallerOrLoopback]

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        return HttpResponse(metrics.render(), content_type=CONTENT_TYPE_LATEST)


class SchemaView(ProjectView, SpectacularJSONAPIView):
    permission_classes = [IsCallerOrLoopback]
    query_methods: ClassVar[frozenset[str]] = frozenset()


class DocsQuery(serializers.Serializer[Any]):
    script = serializers.CharField(
        required=False, allow_blank=True, help_text="Answer the script of the page."
    )


@method_decorator(
    # Swagger's page and bundle use inline styles.
    csp_update({"style-src": ["'self'", "'unsafe-inline'"]}),
    name="dispatch",
)
class DocsView(ProjectView, SpectacularSwaggerSplitView):
    permission_classes = [IsCallerOrLoopback]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        self.query(DocsQuery)
