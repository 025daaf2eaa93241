from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse

from audit.admin import AuditedAdmin
from common.admin import panels
from common.admin.filters import ProjectFilter, exact_filter
from common.admin.model_admin import caller_of
from common.admin.panels import column, format_time, short_text
from memories.models import File


@admin.register(File)
class FileAdmin(AuditedAdmin):
    list_display = ["path", "file_type", "memories", "project_name", "seen_display"]
    list_filter = [
        ProjectFilter,
        exact_filter("file_path__startswith", "path starts with", name="under"),
        exact_filter("file_type", "type"),
    ]
    search_fields = ["file_path__icontains"]
    search_help_text = "A part of the path"
    fields = [
        "path",
        "file_type",
        "project_name",
        "memories",
        "last_content_hash",
        "renamed_display",
        "first_seen_at",
        "seen_display",
    ]

    path = column("file_path", short_text, title="path")
    renamed_display = column("renamed_from", panels.json_block, title="former paths")
    seen_display = column(
        "last_seen_at", format_time, title="last seen", ordering="last_seen_at"
    )

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).with_memory_count(caller_of(request))

    @admin.display(description="memories")
    def memories(self, file: Any) -> int:
        count: int = file.memory_count
        return count

    def links(self, request: HttpRequest, row: Any) -> list[dict[str, str]]:
        query = urlencode({"project": row.project_id, "path": row.file_path})
        url = f"{reverse('console:file')}?{query}"
        return [{"label": "Its memories", "url": url}]
