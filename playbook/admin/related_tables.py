from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from common.admin import panels
from common.admin.filters import ProjectFilter, choice_filter, exact_filter
from common.admin.model_admin import RowsAdmin
from common.admin.panels import format_time, row_link, short_text
from common.caller import Caller
from memories.admin.tables import MemoryRowsAdmin
from memories.models import GivenUse
from playbook.admin.panel_tables import ENTRY, RUN
from playbook.models import (
    EntryVector,
    Exposure,
    PlaybookEntry,
    Support,
)
from search.columns import search_columns_of


class EntryRowsAdmin(RowsAdmin):
    """Base admin of rows that belong to an entry.

    Whoever may see the entry may see the rows.
    """

    project_path = "entry__project_id"
    list_select_related = ["entry"]

    def visible_to(self, caller: Caller) -> Any:
        entries = PlaybookEntry.objects.visible_to(caller)
        return (
            self.model.objects.filter(entry__in=entries)
            .select_related("entry")
            .defer(*search_columns_of("entry"))
        )

    @admin.display(description="entry")
    def entry_display(self, row: Any) -> Any:
        return row_link(ENTRY, row.entry_id, row.entry, 80)


@admin.register(Support)
class SupportAdmin(MemoryRowsAdmin):
    project_path = "entry__project_id"
    list_display = ["id", "entry_display", "memory_display", "project_name", "since"]
    list_filter = [ProjectFilter]
    search_fields = ["entry__label", "memory_id", "entry_id"]
    search_help_text = "Label of an entry, or id of a memory"
    fields = ["entry_display", "memory_display", "project_name", "since"]

    since = staticmethod(
        panels.column("created_at", format_time, title="since", ordering="id")
    )

    def get_queryset(self, request: HttpRequest) -> Any:
        rows = super().get_queryset(request).select_related("entry", "memory")
        return rows.defer(*search_columns_of("entry", "memory"))

    @admin.display(description="entry")
    def entry_display(self, row: Support) -> Any:
        return row_link(ENTRY, row.entry_id, row.entry, 80)


@admin.register(EntryVector)
class EntryVectorAdmin(EntryRowsAdmin):
    list_display = ["id", "entry_display", "model", "project_name"]
    list_filter = [ProjectFilter, exact_filter("model")]
    search_fields = ["entry_id", "entry__label", "id"]
    search_help_text = "Id or label of the entry"
    fields = ["id", "entry_display", "model", "project_name", "dimensions"]

    def get_queryset(self, request: HttpRequest) -> Any:
        unused_columns = ("embedding", *search_columns_of("entry"))
        return super().get_queryset(request).defer(*unused_columns)

    @admin.display(description="dimensions")
    def dimensions(self, vector: EntryVector) -> int:
        return len(list(vector.embedding))


@admin.register(Exposure)
class ExposureAdmin(EntryRowsAdmin):
    list_display = [
        "entry_display",
        "run_display",
        "agent",
        "was_cited",
        "used_as",
        "project_name",
        "when",
    ]
    list_display_links = ["when"]
    list_filter = [
        ProjectFilter,
        choice_filter("was_cited", [(1, "yes"), (0, "no")], "cited"),
        choice_filter("used_as", GivenUse.choices, "used"),
        exact_filter("agent_id", "agent"),
    ]
    search_fields = ["entry__label", "run_id", "entry_id"]
    search_help_text = "Label of an entry, or id of a run"
    fields = [
        "entry_display",
        "run_display",
        "agent",
        "was_cited",
        "used_as",
        "request_id",
        "project_name",
        "when",
    ]

    agent = staticmethod(
        panels.column("agent_id", lambda agent: short_text(agent, 40), title="agent")
    )
    when = staticmethod(panels.column("at", format_time, title="when", ordering="id"))

    @admin.display(description="run")
    def run_display(self, row: Exposure) -> Any:
        return row_link(RUN, row.run_id)
