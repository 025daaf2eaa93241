from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse

from common.admin import panels
from common.admin.filters import DaysFilter, ProjectFilter, choice_filter, exact_filter
from common.admin.model_admin import RowsAdmin
from common.admin.panels import column, format_time, row_link, short_text
from playbook.models import PlaybookChange

ENTRY, DELTA = "playbook_playbookentry", "playbook_playbookdelta"


@admin.register(PlaybookChange)
class PlaybookChangeAdmin(RowsAdmin):
    list_title = "Changes"
    list_display = [
        "at_display",
        "revision",
        "action",
        "entry_display",
        "actor_display",
        "reason_display",
        "project_name",
    ]
    list_filter = [
        ProjectFilter,
        choice_filter("operation", PlaybookChange.ChangeOperation.choices),
        exact_filter("action"),
        exact_filter("actor"),
        exact_filter("entry_label", "entry"),
        ("changed_at", DaysFilter),
    ]
    search_fields = ["entry_label", "entry_id", "actor", "run_id", "delta_id"]
    search_help_text = "Label or id of an entry, actor, id of a run or delta"
    fields = [
        "at_display",
        "revision",
        "operation",
        "action",
        "entry_display",
        "actor_display",
        "agent_id",
        "project_name",
        "change_display",
        "reason",
        "related_memory_id",
        "delta_display",
        "run_id",
        "reverts_id",
        "request_id",
    ]

    at_display = column("changed_at", format_time, title="when", ordering="id")
    actor_display = column("actor", short_text, ordering="actor")
    reason_display = column("reason", lambda text: short_text(text, 80))

    @admin.display(description="entry", ordering="entry_label")
    def entry_display(self, change: PlaybookChange) -> Any:
        return row_link(ENTRY, change.entry_id, change.entry_label)

    @admin.display(description="change")
    def change_display(self, change: PlaybookChange) -> Any:
        return panels.change_block(change.before, change.after)

    @admin.display(description="delta")
    def delta_display(self, change: PlaybookChange) -> Any:
        return row_link(DELTA, change.delta_id)

    def links(self, request: HttpRequest, row: Any) -> list[dict[str, str]]:
        query = urlencode({"project": row.project_id, "revision": row.revision})
        url = f"{reverse('console:playbook')}?{query}"
        return [{"label": "Its revision, revert", "url": url}]
