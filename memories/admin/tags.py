from __future__ import annotations

from typing import Any
from urllib.parse import quote

from django.contrib import admin
from django.http import HttpRequest

from audit import admin as audit_admin
from common import panels
from common.admin import RowsAdmin, caller_of
from common.caller import Role
from common.deeds import Deed
from common.list_filters import (
    ProjectFilter,
    exactly,
)
from common.panels import Panel, words
from memories import tags
from memories.admin.forms import TagForm
from memories.admin.shown import MEMORY
from memories.models import (
    Tag,
)


@admin.register(Tag)
class TagAdmin(RowsAdmin):
    form = TagForm
    adds = Role.WRITER
    changes = Role.CURATOR
    list_display = ["name_shown", "category", "memories", "about", "project_name"]
    list_filter = [ProjectFilter, exactly("category")]
    search_fields = ["name__icontains"]
    search_help_text = "A part of the name"
    fields = ["name", "description", "category"]
    readonly_fields = ["memories"]
    deeds = [
        Deed(
            "merge",
            "Merge into…",
            Role.CURATOR,
            lambda tag, caller, text: tags.merge(
                tag, tags.named(tag.project_id, text, caller), caller
            ),
            "merged",
            asks="Name of the tag that stays",
            needs_text=True,
        ),
        Deed(
            "delete",
            "Delete",
            Role.CURATOR,
            lambda tag, caller, text: tags.delete(tag, caller),
            "deleted",
            is_final=True,
        ),
    ]

    name_shown = staticmethod(
        panels.column("name", words, title="tag", ordering="name")
    )
    about = staticmethod(
        panels.column("description", lambda text: words(text, 80), title="about")
    )

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).counted_for(caller_of(request))

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        fields = list(self.fields or [])
        return [*fields, "memories"] if obj else ["project", *fields]

    @admin.display(description="memories")
    def memories(self, tag: Any) -> Any:
        where = f"project={tag.project_id}&tag={_quoted(tag.name)}&state=current"
        return panels.many(MEMORY, where, f"{tag.usage_count:,}")

    def past(self, request: HttpRequest, row: Any) -> list[Panel]:
        return [audit_admin.of(row.pk, caller_of(request))]


def _quoted(text: str) -> str:
    return quote(text, safe="")
