from __future__ import annotations

from typing import Any

from django.contrib import admin

from audit.admin import AuditedAdmin
from common.admin import panels
from common.admin.filters import DaysFilter, ProjectFilter, choice_filter
from common.admin.panels import column, format_time, short_text
from common.caller import Role
from memories.models import Purge


@admin.register(Purge)
class PurgeAdmin(AuditedAdmin):
    """The receipts of purges."""

    view_role = Role.OWNER
    list_display = [
        "created_display",
        "state",
        "what_display",
        "rows_display",
        "reason_display",
        "actor_display",
        "project_name",
    ]
    list_filter = [
        ProjectFilter,
        choice_filter("state", Purge.PurgeState.choices),
        ("created_at", DaysFilter),
    ]
    search_fields = ["id", "actor"]
    search_help_text = "Id, or who asked"
    fields = [
        "id",
        "state",
        "selection_display",
        "cascade",
        "reason_display",
        "actor_display",
        "project_name",
        "created_display",
        "done_at",
        "counts_display",
        "descendants_display",
    ]

    reason_display = column("reason", short_text)
    actor_display = column("actor", short_text, title="who")
    selection_display = column("selection", panels.json_block)
    counts_display = column("counts", panels.json_block, title="rows")
    descendants_display = column("descendants", panels.json_block)
    created_display = column("created_at", format_time, title="asked", ordering="id")

    @admin.display(description="of")
    def what_display(self, purge: Purge) -> Any:
        return short_text(", ".join(purge.selection), 60)

    @admin.display(description="rows")
    def rows_display(self, purge: Purge) -> str:
        return f"{sum(purge.counts.values()):,}"
