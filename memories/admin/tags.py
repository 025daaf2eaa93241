"""The admin of tags."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from django.contrib import admin
from django.http import HttpRequest

from audit import admin as audit_admin
from common.admin import panels
from common.admin.actions import AdminAction
from common.admin.filters import ProjectFilter, exact_filter
from common.admin.model_admin import RowsAdmin, caller_of
from common.admin.panels import Panel, short_text
from common.caller import Role
from common.text import comma_list
from memories.admin.forms import TagForm
from memories.admin.status import MEMORY
from memories.models import (
    Tag,
)
from memories.store import tags


@admin.register(Tag)
class TagAdmin(RowsAdmin):
    form = TagForm
    add_role = Role.WRITER
    change_role = Role.CURATOR
    list_display = ["name_display", "category", "memories", "about", "project_name"]
    list_filter = [ProjectFilter, exact_filter("category")]
    search_fields = ["name__icontains"]
    search_help_text = "A part of the name"
    fields = ["name", "description", "category"]
    readonly_fields = ["memories"]
    row_actions = [
        AdminAction(
            "merge",
            "Merge into…",
            Role.CURATOR,
            lambda tag, caller, text: tags.merge(
                tag, tags.find_tag(tag.project_id, text, caller), caller
            ),
            "merged",
            text_label="Name of the tag that stays",
            needs_text=True,
        ),
        AdminAction(
            "delete",
            "Delete",
            Role.CURATOR,
            lambda tag, caller, text: tags.delete(tag, caller),
            "deleted",
            is_final=True,
        ),
    ]

    name_display = staticmethod(
        panels.column("name", short_text, title="tag", ordering="name")
    )
    about = staticmethod(
        panels.column("description", lambda text: short_text(text, 80), title="about")
    )

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).with_usage_count(caller_of(request))

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        fields = list(self.fields or [])
        return [*fields, "memories"] if obj else ["project", *fields]

    @admin.display(description="memories")
    def memories(self, tag: Any) -> Any:
        where = f"project={tag.project_id}&tag={_quote(comma_list.join([tag.name]))}&state=current"
        return panels.list_link(MEMORY, where, f"{tag.usage_count:,}")

    def history_panels(self, request: HttpRequest, row: Any) -> list[Panel]:
        return [audit_admin.history_panel(row.pk, caller_of(request))]


def _quote(text: str) -> str:
    return quote(text, safe="")
