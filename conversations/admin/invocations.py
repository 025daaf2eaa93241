"""The admin of invocations and of the switches of memory."""

from __future__ import annotations

from typing import Any

from django.contrib import admin

from common.admin import panels
from common.admin.actions import AdminAction
from common.admin.filters import ProjectFilter, exact_filter, presence_filter
from common.admin.model_admin import RowsAdmin
from common.admin.panels import format_time, row_link, short_text
from common.caller import Caller, Role
from conversations.invocations.switch import set_memory
from conversations.models import Invocation, MemorySwitch

SESSION = "conversations_session"


@admin.register(Invocation)
class InvocationAdmin(RowsAdmin):
    list_select_related = ["session"]
    list_display = [
        "query_display",
        "seq",
        "result_display",
        "session_display",
        "created_display",
        "project_name",
    ]
    list_filter = [
        ProjectFilter,
        exact_filter("session_id", "session", name="session"),
        presence_filter("hidden_at", "hidden"),
    ]
    search_fields = ["id", "run_id"]
    search_help_text = "Id of the invocation or of its run"
    fields = [
        "id",
        "session_display",
        "project_name",
        "seq",
        "query_block",
        "summary_block",
        "result_block",
        "run_id",
        "created_at",
        "hidden_at",
    ]

    query_display = staticmethod(panels.column("query", short_text))
    result_display = staticmethod(panels.column("result", short_text))
    query_block = staticmethod(panels.column("query", panels.text_block))
    summary_block = staticmethod(panels.column("summary", panels.text_block))
    result_block = staticmethod(panels.column("result", panels.text_block))
    created_display = staticmethod(
        panels.column("created_at", format_time, title="created", ordering="id")
    )

    @admin.display(description="session")
    def session_display(self, row: Any) -> Any:
        return row_link(SESSION, row.session_id, row.session, 60)


def _turn_on(switch: MemorySwitch, caller: Caller, text: str) -> MemorySwitch:
    return set_memory(switch.project, switch.user_id, True, caller)


def _turn_off(switch: MemorySwitch, caller: Caller, text: str) -> MemorySwitch:
    return set_memory(switch.project, switch.user_id, False, caller)


@admin.register(MemorySwitch)
class MemorySwitchAdmin(RowsAdmin):
    list_display = ["user_display", "is_enabled", "updated_display", "project_name"]
    list_filter = [ProjectFilter, exact_filter("user_id", "user")]
    search_fields = ["user_id", "id"]
    search_help_text = "User or id"
    fields = ["id", "user_display", "project_name", "is_enabled", "updated_at"]
    row_actions = [
        AdminAction(
            "turn_on",
            "Turn memory on",
            Role.WRITER,
            _turn_on,
            "turned on",
            is_possible=lambda switch, caller: not switch.is_enabled,
        ),
        AdminAction(
            "turn_off",
            "Turn memory off",
            Role.WRITER,
            _turn_off,
            "turned off",
            is_possible=lambda switch, caller: switch.is_enabled,
        ),
    ]

    user_display = staticmethod(
        panels.column("user_id", lambda pk: short_text(pk or "anonymous", 60))
    )
    updated_display = staticmethod(
        panels.column("updated_at", format_time, title="changed", ordering="updated_at")
    )
