from __future__ import annotations

from typing import Any

from django.contrib import admin

from common.admin import panels
from common.admin.actions import AdminAction
from common.admin.filters import DaysFilter, ProjectFilter, choice_filter, exact_filter
from common.admin.model_admin import RowsAdmin
from common.admin.panels import format_time, row_link, short_text
from common.caller import Caller, Role
from playbook.admin.panel_tables import DELTA, ENTRY, MEMORY, RUN
from playbook.models import PlaybookChange
from playbook.review import revert
from playbook.review.revert import RevertResult
from projects import project_lookup


def _revert(change: PlaybookChange, caller: Caller, text: str) -> RevertResult:
    project = project_lookup.find_project(str(change.project_id), caller)
    target = revert.change_target(project, change.pk, caller)
    return revert.revert_changes(project, target, caller, reason=text)


def _revert_since(change: PlaybookChange, caller: Caller, text: str) -> RevertResult:
    project = project_lookup.find_project(str(change.project_id), caller)
    target = revert.range_target(project, change.revision, None, caller)
    return revert.revert_changes(project, target, caller, reason=text)


@admin.register(PlaybookChange)
class PlaybookChangeAdmin(RowsAdmin):
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
        "memory_display",
        "delta_display",
        "run_display",
        "reverts_display",
        "request_id",
    ]
    row_actions = [
        AdminAction(
            "revert",
            "Revert",
            Role.CURATOR,
            _revert,
            "reverted by a new change",
            text_label="Why",
        ),
        AdminAction(
            "revert_since",
            "Revert everything after it",
            Role.CURATOR,
            _revert_since,
            "the current revision again, except what cannot be restored",
            text_label="Why",
            needs_text=True,
            is_final=True,
        ),
    ]

    at_display = staticmethod(
        panels.column("changed_at", format_time, title="when", ordering="id")
    )
    actor_display = staticmethod(panels.column("actor", short_text, ordering="actor"))
    reason_display = staticmethod(
        panels.column("reason", lambda text: short_text(text, 80), title="reason")
    )

    @admin.display(description="entry", ordering="entry_label")
    def entry_display(self, change: PlaybookChange) -> Any:
        return row_link(ENTRY, change.entry_id, change.entry_label)

    @admin.display(description="change")
    def change_display(self, change: PlaybookChange) -> Any:
        return panels.change_block(change.before, change.after)

    @admin.display(description="memory")
    def memory_display(self, change: PlaybookChange) -> Any:
        return row_link(MEMORY, change.related_memory_id)

    @admin.display(description="delta")
    def delta_display(self, change: PlaybookChange) -> Any:
        return row_link(DELTA, change.delta_id)

    @admin.display(description="reverts")
    def reverts_display(self, change: PlaybookChange) -> Any:
        return row_link("playbook_playbookchange", change.reverts_id)

    @admin.display(description="run")
    def run_display(self, change: PlaybookChange) -> Any:
        return row_link(RUN, change.run_id)
