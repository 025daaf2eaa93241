from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from audit import admin as audit_admin
from common import panels
from common.admin import RowsAdmin, caller_of
from common.list_filters import (
    DaysFilter,
    ProjectFilter,
    chosen,
)
from common.panels import Panel, link, words
from playbook.admin.shown import DELTA, ENTRY
from playbook.models import (
    Conflict,
)


@admin.register(Conflict)
class ConflictAdmin(RowsAdmin):
    list_display = [
        "reason_shown",
        "left_shown",
        "right_shown",
        "state",
        "project_name",
    ]
    list_filter = [
        ProjectFilter,
        chosen("state", Conflict.State.choices),
        ("created_at", DaysFilter),
    ]
    search_fields = ["left__label", "right__label", "id"]
    search_help_text = "Label of an entry"
    fields = [
        "reason_shown",
        "state",
        "left_shown",
        "right_shown",
        "project_name",
        "decided_by",
        "decided_at",
        "created_at",
    ]

    reason_shown = staticmethod(panels.column("reason", words, title="reason"))

    def get_queryset(self, request: HttpRequest) -> Any:
        heavy = ("content_tsv", "content_terms")
        return (
            super()
            .get_queryset(request)
            .select_related("left", "right", "delta")
            .defer(*(f"{side}__{name}" for side in ("left", "right") for name in heavy))
        )

    @admin.display(description="one side")
    def left_shown(self, conflict: Conflict) -> Any:
        return link(ENTRY, conflict.left_id, conflict.left)

    @admin.display(description="other side")
    def right_shown(self, conflict: Conflict) -> Any:
        if conflict.right:
            return link(ENTRY, conflict.right_id, conflict.right)
        if conflict.delta:
            return link(DELTA, conflict.delta_id, conflict.delta.content)
        return ""

    def past(self, request: HttpRequest, row: Any) -> list[Panel]:
        return [audit_admin.of(row.pk, caller_of(request))]
