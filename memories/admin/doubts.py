from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString

from audit import admin as audit_admin
from common import panels
from common.admin import RowsAdmin, caller_of
from common.caller import Role
from common.deeds import Deed
from common.list_filters import (
    ProjectFilter,
    chosen,
)
from common.panels import IN_PANEL, Panel, link, moment, words
from memories import duplicates
from memories.admin.shown import MEMORY
from memories.models import (
    PossibleDuplicate,
)


@admin.register(PossibleDuplicate)
class PossibleDuplicateAdmin(RowsAdmin):
    list_display = [
        "newer",
        "older",
        "similarity_shown",
        "why",
        "state",
        "project_name",
    ]
    list_filter = [ProjectFilter, chosen("state", PossibleDuplicate.State.choices)]
    search_fields = ["memory_id", "other_id", "id"]
    search_help_text = "Id of one of the memories"
    fields = [
        "similarity_shown",
        "why",
        "state",
        "decided_by",
        "decided_at",
        "note",
        "project_name",
    ]
    deeds = [
        Deed(
            "merge",
            "Merge: the newer is a duplicate",
            Role.CURATOR,
            lambda pair, caller, text: duplicates.decide(
                pair, "merged", caller, note=text
            ),
            "merged",
            fits=lambda pair: pair.state == PossibleDuplicate.State.OPEN,
            asks="Note",
        ),
        Deed(
            "keep",
            "Keep both",
            Role.CURATOR,
            lambda pair, caller, text: duplicates.decide(
                pair, "kept_both", caller, note=text
            ),
            "kept apart",
            fits=lambda pair: pair.state == PossibleDuplicate.State.OPEN,
            asks="Note",
        ),
    ]

    why = staticmethod(panels.column("why_not_merged", words, title="why not merged"))

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).light()

    def seen(self, row: Any) -> str:
        """The versions of both memories."""
        return f"{row.memory.version} {row.other.version}"

    @admin.display(description="newer")
    def newer(self, pair: PossibleDuplicate) -> SafeString:
        return words(pair.memory, 80)

    @admin.display(description="older")
    def older(self, pair: PossibleDuplicate) -> SafeString:
        return words(pair.other, 80)

    @admin.display(description="similarity", ordering="similarity")
    def similarity_shown(self, pair: PossibleDuplicate) -> str:
        return f"{pair.similarity:.3f}"

    def panels(self, request: HttpRequest, row: Any) -> Iterable[Panel]:
        sides = [("newer", row.memory), ("older", row.other)]
        yield Panel(
            "Side by side",
            ["", *(link(MEMORY, memory.pk, side) for side, memory in sides)],
            [
                ["created", *(moment(memory.created_at) for _, memory in sides)],
                ["type", *(memory.memory_type for _, memory in sides)],
                ["agent", *(words(memory.agent_id, 60) for _, memory in sides)],
                ["tags", *(panels.tags(memory.tags) for _, memory in sides)],
                [
                    "content",
                    *(panels.block(m.content, 10 * IN_PANEL) for _, m in sides),
                ],
            ],
        )

    def past(self, request: HttpRequest, row: Any) -> list[Panel]:
        return [audit_admin.of(row.pk, caller_of(request))]
