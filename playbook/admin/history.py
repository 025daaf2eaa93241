from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from common import panels
from common.admin import RowsAdmin, caller_of
from common.list_filters import (
    DaysFilter,
    ProjectFilter,
    chosen,
    exactly,
)
from common.panels import Panel, link, moment, words
from playbook.admin.shown import DELTA, ENTRY, MEMORY, RUN, history_of
from playbook.models import (
    Playbook,
    PlaybookChange,
)


@admin.register(PlaybookChange)
class PlaybookChangeAdmin(RowsAdmin):
    list_display = [
        "at_shown",
        "revision",
        "action",
        "entry_shown",
        "actor_shown",
        "reason_shown",
        "project_name",
    ]
    list_filter = [
        ProjectFilter,
        chosen("operation", PlaybookChange.Operation.choices),
        exactly("action"),
        exactly("actor"),
        exactly("entry_label", "entry"),
        ("changed_at", DaysFilter),
    ]
    search_fields = ["entry_label", "entry_id", "actor", "run_id", "delta_id"]
    search_help_text = "Label or id of an entry, actor, id of a run or delta"
    fields = [
        "at_shown",
        "revision",
        "operation",
        "action",
        "entry_shown",
        "actor_shown",
        "agent_id",
        "project_name",
        "changed",
        "reason",
        "memory_shown",
        "delta_shown",
        "run_shown",
        "reverts_id",
        "request_id",
    ]

    at_shown = staticmethod(
        panels.column("changed_at", moment, title="when", ordering="id")
    )
    actor_shown = staticmethod(panels.column("actor", words, ordering="actor"))
    reason_shown = staticmethod(
        panels.column("reason", lambda text: words(text, 80), title="reason")
    )

    @admin.display(description="entry", ordering="entry_label")
    def entry_shown(self, change: PlaybookChange) -> Any:
        return link(ENTRY, change.entry_id, change.entry_label)

    @admin.display(description="change")
    def changed(self, change: PlaybookChange) -> Any:
        return panels.difference(change.before, change.after)

    @admin.display(description="memory")
    def memory_shown(self, change: PlaybookChange) -> Any:
        return link(MEMORY, change.related_memory_id)

    @admin.display(description="delta")
    def delta_shown(self, change: PlaybookChange) -> Any:
        return link(DELTA, change.delta_id)

    @admin.display(description="run")
    def run_shown(self, change: PlaybookChange) -> Any:
        return link(RUN, change.run_id)


@admin.register(Playbook)
class PlaybookAdmin(RowsAdmin):
    list_display = ["project_name", "revision", "tokens", "next_label"]
    list_filter = [ProjectFilter]
    fields = ["project_name", "revision", "tokens", "next_label"]

    def panels(self, request: HttpRequest, row: Any) -> Iterable[Panel]:
        changes = PlaybookChange.objects.visible_to(caller_of(request))
        yield history_of(changes.filter(project_id=row.project_id))
