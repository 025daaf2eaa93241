"""The admin of vectors and changes of memories."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from common.admin import panels
from common.admin.filters import DaysFilter, ProjectFilter, choice_filter, exact_filter
from common.admin.model_admin import RowsAdmin
from common.admin.panels import format_time, row_link, short_text
from common.caller import Caller
from memories.admin.status import MEMORY
from memories.models import (
    Memory,
    MemoryChange,
    MemoryVector,
)
from search.columns import search_columns_of


class MemoryRowsAdmin(RowsAdmin):
    """The admin of rows that belong to a memory.

    A user who may see the memory may see its rows.
    """

    project_path = "memory__project_id"

    def visible_to(self, caller: Caller) -> Any:
        seen = Memory.objects.visible_to(caller)
        return self.model.objects.filter(memory__in=seen).defer(
            *search_columns_of("memory")
        )

    @admin.display(description="memory")
    def memory_display(self, row: Any) -> Any:
        return row_link(MEMORY, row.memory_id, row.memory, 80)


@admin.register(MemoryVector)
class MemoryVectorAdmin(MemoryRowsAdmin):
    list_display = ["id", "memory_display", "model", "project_name"]
    list_select_related = ["memory"]
    list_filter = [ProjectFilter, exact_filter("model")]
    search_fields = ["memory_id", "id"]
    search_help_text = "Id of the memory"
    fields = ["id", "memory_display", "model", "project_name", "dimensions"]

    def get_queryset(self, request: HttpRequest) -> Any:
        return (
            super()
            .get_queryset(request)
            .defer("embedding", *search_columns_of("memory"))
        )

    @admin.display(description="dimensions")
    def dimensions(self, vector: MemoryVector) -> int:
        return len(list(vector.embedding))


@admin.register(MemoryChange)
class MemoryChangeAdmin(RowsAdmin):
    list_display = [
        "at_display",
        "action",
        "actor_display",
        "memory_display",
        "project_name",
    ]
    list_filter = [
        ProjectFilter,
        choice_filter("action", MemoryChange.Action.choices),
        exact_filter("actor"),
        exact_filter("agent_id", "agent"),
        ("at", DaysFilter),
    ]
    search_fields = ["memory_id", "actor", "request_id"]
    search_help_text = "Id of the memory, actor or request id"
    fields = [
        "at_display",
        "action",
        "actor_display",
        "agent_id",
        "source",
        "memory_display",
        "project_name",
        "change_display",
        "reason",
        "request_id",
    ]

    at_display = staticmethod(
        panels.column("at", format_time, title="when", ordering="id")
    )
    actor_display = staticmethod(panels.column("actor", short_text, ordering="actor"))

    @admin.display(description="memory")
    def memory_display(self, change: MemoryChange) -> Any:
        return row_link(MEMORY, change.memory_id)

    @admin.display(description="change")
    def change_display(self, change: MemoryChange) -> Any:
        return panels.change_block(change.before, change.after)
