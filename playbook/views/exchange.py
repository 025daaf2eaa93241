"""Views that export and import a playbook."""

from __future__ import annotations

from typing import Any, ClassVar

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from playbook.exchange import export_playbook, import_playbook
from playbook.lessons import person_edits
from playbook.serializers import exchange as exchange_forms


class ExportPlaybookView(ProjectView):
    @extend_schema(
        operation_id="playbook_export",
        parameters=[exchange_forms.ExportQuery],
        responses={
            (200, "text/plain"): OpenApiTypes.STR,
            (200, "application/json"): OpenApiTypes.OBJECT,
            (200, "text/markdown"): OpenApiTypes.STR,
        },
    )
    def get(self, request: Request) -> HttpResponse:
        """Export the playbook as ACE lines, for an AGENTS.md, or as skills."""
        data = self.query(exchange_forms.ExportQuery)
        project = self.project(data)
        text = export_playbook.export_text(project, self.caller, format=data["format"])
        kind = export_playbook.MEDIA_TYPES[data["format"]]
        return HttpResponse(text.encode(), content_type=kind)


class ImportPlaybookView(ProjectView):
    self_guarded: ClassVar[frozenset[str]] = frozenset(["content"])

    @extend_schema(
        operation_id="playbook_import",
        request=exchange_forms.ImportIn,
        responses={201: exchange_forms.ImportOut},
    )
    def post(self, request: Request) -> Response:
        """Import a whole playbook. The changes wait for a curator."""
        data = self.body(exchange_forms.ImportIn)
        project = self.project(data)
        if response := self.replay(project.pk):
            return response
        person_edits.refuse_unknown_category(project, data)
        # The import runs outside the transaction of the Idempotency-Key. An import is
        # written in chunks, and repeating an import changes nothing.
        imported = import_playbook.import_text(
            project,
            data["content"],
            self.caller,
            format=data["format"],
            category=data.get("category", ""),
            producer=data["producer"],
            producer_name=data["producer_name"],
        )

        def act() -> tuple[int, dict[str, Any]]:
            return 201, dict(exchange_forms.ImportOut(imported).data)

        return self.run_once(project.pk, act)
