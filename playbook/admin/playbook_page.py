"""The admin page of a project's playbook, with preview, export and import."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from audit import admin as audit_admin
from common.admin.filters import ProjectFilter
from common.admin.model_admin import RowsAdmin, caller_of
from common.admin.pages import AdminPage
from common.admin.panels import Panel
from common.caller import Role
from playbook.admin import exchange, preview
from playbook.admin.panel_tables import history_panel, revision_url
from playbook.models import Playbook, PlaybookChange


def _of_project(playbook: Playbook) -> dict[str, object]:
    return {"project": playbook.project_id}


PREVIEW = AdminPage(
    "preview",
    "Preview for a task",
    Role.VIEWER,
    preview.PlaybookPreviewForm,
    preview.preview_result,
    "Show what an agent gets",
    description="Nothing is recorded: no entry counts as given.",
    query_for_row=_of_project,
)
EXPORT = AdminPage(
    "export",
    "Export",
    Role.VIEWER,
    exchange.ExportForm,
    exchange.download,
    "Download",
    query_for_row=_of_project,
)
IMPORT = AdminPage(
    "import",
    "Import",
    Role.WRITER,
    exchange.ImportForm,
    exchange.import_result,
    "Import",
    description="The changes of a file wait for a curator; importing the same file again changes "
    "nothing. If a curator imports JSON with history into an empty playbook, it is "
    "restored at once.",
    uses_post=True,
    query_for_row=_of_project,
)


@admin.register(Playbook)
class PlaybookAdmin(RowsAdmin):
    list_display = ["project_name", "revision", "tokens", "next_label"]
    list_filter = [ProjectFilter]
    fields = ["project_name", "revision", "tokens", "next_label"]
    pages = [PREVIEW, EXPORT, IMPORT]

    def links(self, request: HttpRequest, row: Any) -> list[dict[str, str]]:
        revisions = {"label": "Revisions", "url": revision_url(row.project_id)}
        return [revisions, *super().links(request, row)]

    def panels(self, request: HttpRequest, row: Any) -> Iterable[Panel]:
        changes = PlaybookChange.objects.visible_to(caller_of(request))
        yield history_panel(changes.filter(project_id=row.project_id))

    def history_panels(self, request: HttpRequest, row: Any) -> list[Panel]:
        return [audit_admin.history_panel(row.pk, caller_of(request))]
