from __future__ import annotations

from typing import Any

from django.contrib import admin

from common import panels
from common.admin import RowsAdmin
from common.caller import Caller, Role
from common.deeds import Deed
from common.list_filters import (
    DaysFilter,
    ProjectFilter,
    chosen,
    exactly,
)
from common.panels import link, moment, words
from playbook import reverting
from playbook.admin.shown import DELTA, ENTRY, MEMORY, RUN
from playbook.models import PlaybookChange
from playbook.reverting import Reverted
from projects import finding


def _revert(change: PlaybookChange, caller: Caller, typed: str) -> Reverted:
    project = finding.project(str(change.project_id), caller)
    target = reverting.change(project, change.pk, caller)
    return reverting.revert(project, target, caller, reason=typed)


def _revert_since(change: PlaybookChange, caller: Caller, typed: str) -> Reverted:
    project = finding.project(str(change.project_id), caller)
    target = reverting.between(project, change.revision, None, caller)
    return reverting.revert(project, target, caller, reason=typed)


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
        "reverts_shown",
        "request_id",
    ]
    deeds = [
        Deed(
            "revert",
            "Take back",
            Role.CURATOR,
            _revert,
            "taken back by a new change",
            asks="Why",
        ),
        Deed(
            "revert_since",
            "Take back all that came after it",
            Role.CURATOR,
            _revert_since,
            "the present one again, but for what cannot come back",
            asks="Why",
            needs_text=True,
            is_final=True,
        ),
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

    @admin.display(description="takes back")
    def reverts_shown(self, change: PlaybookChange) -> Any:
        return link("playbook_playbookchange", change.reverts_id)

    @admin.display(description="run")
    def run_shown(self, change: PlaybookChange) -> Any:
        return link(RUN, change.run_id)
