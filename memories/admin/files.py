"""Admin of files and of the links between memories and files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from audit import admin as audit_admin
from common.admin import panels
from common.admin.actions import AdminAction
from common.admin.filters import ProjectFilter, choice_filter, exact_filter
from common.admin.model_admin import RowsAdmin, caller_of
from common.admin.panels import Panel, format_time, row_link, short_text
from common.caller import Role
from memories.admin.status import MEMORY
from memories.admin.tables import MemoryRowsAdmin
from memories.models import (
    File,
    Memory,
    MemoryFile,
)
from memories.store import files
from search.columns import search_columns_of


@admin.register(MemoryFile)
class MemoryFileAdmin(MemoryRowsAdmin):
    list_display = ["path", "memory_display", "relation_type", "project_name", "state"]
    list_select_related = ["memory", "file"]
    list_filter = [
        ProjectFilter,
        choice_filter("relation_type", MemoryFile.Relation.choices, "relation"),
        exact_filter("file__file_path__startswith", "path starts with", name="under"),
    ]
    search_fields = ["file__file_path", "memory_id"]
    search_help_text = "Path, or id of the memory"
    fields = [
        "memory_display",
        "file",
        "relation_type",
        "line_start",
        "line_end",
        "content_hash",
        "suspect_since",
    ]

    @admin.display(description="file", ordering="file__file_path")
    def path(self, row: MemoryFile) -> SafeString:
        return short_text(row.file.file_path, 80)

    @admin.display(description="state", ordering="suspect_since")
    def state(self, row: MemoryFile) -> str:
        return "changed since" if row.suspect_since else "as it was"


@admin.register(File)
class FileAdmin(RowsAdmin):
    list_display = ["path", "file_type", "memories", "project_name", "seen_display"]
    list_filter = [
        ProjectFilter,
        exact_filter("file_path__startswith", "path starts with", name="under"),
        exact_filter("file_type", "type"),
    ]
    search_fields = ["file_path__icontains"]
    search_help_text = "A part of the path"
    fieldsets = [
        (None, {"fields": ["path", "file_type", "project_name", "memories"]}),
        (
            "Record",
            {
                "fields": [
                    "last_content_hash",
                    "renamed_display",
                    "first_seen_at",
                    "seen_display",
                ]
            },
        ),
    ]
    row_actions = [
        AdminAction(
            "rename",
            "Rename",
            Role.CURATOR,
            lambda file, caller, text: files.rename(
                file.project, file.file_path, text, caller
            ),
            "renamed",
            text_label="New path",
            needs_text=True,
        )
    ]

    path = staticmethod(panels.column("file_path", short_text, title="path"))
    renamed_display = staticmethod(
        panels.column("renamed_from", panels.json_block, title="former paths")
    )
    seen_display = staticmethod(
        panels.column(
            "last_seen_at", format_time, title="last seen", ordering="last_seen_at"
        )
    )

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).with_memory_count(caller_of(request))

    @admin.display(description="memories")
    def memories(self, file: Any) -> int:
        count: int = file.memory_count
        return count

    def links(self, request: HttpRequest, row: Any) -> list[dict[str, str]]:
        graph = {"label": "Knowledge graph", "url": graph_address(row)}
        return [graph, *super().links(request, row)]

    def panels(self, request: HttpRequest, row: Any) -> Iterable[Panel]:
        seen = Memory.objects.visible_to(caller_of(request)).current()
        links = (
            MemoryFile.objects.filter(file=row, memory__in=seen)
            .select_related("memory")
            .defer(*search_columns_of("memory"))
            .order_by("-memory_id")
        )
        yield panels.table(
            "Memories",
            ["Memory", "Relation", "Type", "Created"],
            (
                [
                    row_link(MEMORY, found.memory_id, found.memory),
                    found.relation_type,
                    found.memory.get_memory_type_display(),
                    format_time(found.memory.created_at),
                ]
                for found in links[: panels.ROW_LIMIT + 1]
            ),
        )

    def history_panels(self, request: HttpRequest, row: Any) -> list[Panel]:
        return [audit_admin.history_panel(row.pk, caller_of(request))]


def graph_address(file: File) -> str:
    """Return the URL of the page that draws the graph of a file."""
    query = urlencode({"project": file.project_id, "path": file.file_path})
    return f"{reverse('console:file')}?{query}"


def graph_link(file: File) -> SafeString:
    return format_html(
        '<a class="am-link" href="{}">{}</a>',
        graph_address(file),
        short_text(file.file_path),
    )
