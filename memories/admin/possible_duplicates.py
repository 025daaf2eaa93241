"""The admin of possible duplicates.

A page shows both memories side by side.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString

from audit import admin as audit_admin
from common.admin import panels
from common.admin.actions import AdminAction
from common.admin.filters import ProjectFilter, choice_filter
from common.admin.model_admin import RowsAdmin, caller_of
from common.admin.panels import PANEL_LIMIT, Panel, format_time, row_link, short_text
from common.caller import Role
from memories.admin.status import MEMORY
from memories.duplicates import decide
from memories.models import (
    PossibleDuplicate,
)


@admin.register(PossibleDuplicate)
class PossibleDuplicateAdmin(RowsAdmin):
    list_display = [
        "newer",
        "older",
        "similarity_display",
        "why",
        "state",
        "project_name",
    ]
    list_filter = [
        ProjectFilter,
        choice_filter("state", PossibleDuplicate.PairState.choices),
    ]
    search_fields = ["memory_id", "other_id", "id"]
    search_help_text = "Id of one of the memories"
    fields = [
        "similarity_display",
        "why",
        "state",
        "decided_by",
        "decided_at",
        "note",
        "project_name",
    ]
    row_actions = [
        AdminAction(
            "merge",
            "Merge: the newer is a duplicate",
            Role.CURATOR,
            lambda pair, caller, text: decide.decide(pair, "merged", caller, note=text),
            "merged",
            is_possible=lambda pair, caller: (
                pair.state == PossibleDuplicate.PairState.OPEN
            ),
            text_label="Note",
        ),
        AdminAction(
            "keep",
            "Keep both",
            Role.CURATOR,
            lambda pair, caller, text: decide.decide(
                pair, "kept_both", caller, note=text
            ),
            "kept apart",
            is_possible=lambda pair, caller: (
                pair.state == PossibleDuplicate.PairState.OPEN
            ),
            text_label="Note",
        ),
    ]

    why = staticmethod(
        panels.column("why_not_merged", short_text, title="why not merged")
    )

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).light()

    def row_version(self, row: Any) -> str:
        """Return the versions of both memories."""
        return f"{row.memory.version} {row.other.version}"

    @admin.display(description="newer")
    def newer(self, pair: PossibleDuplicate) -> SafeString:
        return short_text(pair.memory, 80)

    @admin.display(description="older")
    def older(self, pair: PossibleDuplicate) -> SafeString:
        return short_text(pair.other, 80)

    @admin.display(description="similarity", ordering="similarity")
    def similarity_display(self, pair: PossibleDuplicate) -> str:
        return f"{pair.similarity:.3f}"

    def panels(self, request: HttpRequest, row: Any) -> Iterable[Panel]:
        sides = [("newer", row.memory), ("older", row.other)]
        yield Panel(
            "Side by side",
            ["", *(row_link(MEMORY, memory.pk, side) for side, memory in sides)],
            [
                ["created", *(format_time(memory.created_at) for _, memory in sides)],
                ["type", *(memory.memory_type for _, memory in sides)],
                ["agent", *(short_text(memory.agent_id, 60) for _, memory in sides)],
                ["tags", *(panels.tag_list(memory.tags) for _, memory in sides)],
                [
                    "content",
                    *(panels.text_block(m.content, 10 * PANEL_LIMIT) for _, m in sides),
                ],
            ],
        )

    def history_panels(self, request: HttpRequest, row: Any) -> list[Panel]:
        return [audit_admin.history_panel(row.pk, caller_of(request))]
