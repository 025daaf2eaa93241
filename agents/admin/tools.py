"""The admin of the tools of agents."""

from __future__ import annotations

from typing import Any

from django.contrib import admin

from agents.models import AgentTool
from common.admin import panels
from common.admin.filters import ProjectFilter, choice_filter
from common.admin.model_admin import RowsAdmin
from common.admin.panels import format_time, short_text


def _json_column(name: str) -> Any:
    return staticmethod(panels.column(name, panels.json_block, title=name))


@admin.register(AgentTool)
class AgentToolAdmin(RowsAdmin):
    list_display = [
        "name_display",
        "description_display",
        "confirm",
        "is_enabled",
        "changed_display",
        "project_name",
    ]
    list_filter = [
        ProjectFilter,
        choice_filter("confirm", AgentTool.Confirm.choices),
    ]
    search_fields = ["name", "id"]
    search_help_text = "Name or id of the server"
    fields = [
        "id",
        "name_display",
        "project_name",
        "description_block",
        "url_display",
        "headers_display",
        "timeout",
        "groups_display",
        "states_display",
        "confirm",
        "is_enabled",
        "listing_display",
        "created_at",
        "updated_at",
    ]

    name_display = staticmethod(
        panels.column("name", lambda name: short_text(name, 64))
    )
    description_display = staticmethod(panels.column("description", short_text))
    description_block = staticmethod(panels.column("description", panels.text_block))
    url_display = staticmethod(panels.column("url", short_text, title="url"))
    headers_display = _json_column("headers")
    groups_display = _json_column("groups")
    states_display = _json_column("states")
    listing_display = _json_column("listing")
    changed_display = staticmethod(
        panels.column("updated_at", format_time, title="changed", ordering="updated_at")
    )
