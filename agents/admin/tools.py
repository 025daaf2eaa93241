"""The admin of tools and of the names of their secrets."""

from __future__ import annotations

from typing import Any

from django.contrib import admin

from agents.models import AgentTool, ToolSecret
from common.admin import panels
from common.admin.filters import ProjectFilter, choice_filter
from common.admin.model_admin import RowsAdmin
from common.admin.panels import format_time, short_text
from common.caller import Role


def _changed_column() -> Any:
    return staticmethod(
        panels.column("updated_at", format_time, title="changed", ordering="updated_at")
    )


def _name_column() -> Any:
    return staticmethod(panels.column("name", lambda name: short_text(name, 64)))


def _json_column(name: str) -> Any:
    return staticmethod(panels.column(name, panels.json_block, title=name))


@admin.register(AgentTool)
class AgentToolAdmin(RowsAdmin):
    list_display = [
        "name_display",
        "kind",
        "description_display",
        "confirm",
        "is_enabled",
        "changed_display",
        "project_name",
    ]
    list_filter = [
        ProjectFilter,
        choice_filter("kind", AgentTool.ToolKind.choices),
        choice_filter("confirm", AgentTool.Confirm.choices),
    ]
    search_fields = ["name", "id"]
    search_help_text = "Name or id of the tool"
    fields = [
        "id",
        "name_display",
        "project_name",
        "kind",
        "description_block",
        "arguments_display",
        "definition_display",
        "timeout",
        "groups_display",
        "states_display",
        "confirm",
        "is_enabled",
        "listing_display",
        "created_at",
        "updated_at",
    ]

    name_display = _name_column()
    description_display = staticmethod(panels.column("description", short_text))
    description_block = staticmethod(panels.column("description", panels.text_block))
    arguments_display = _json_column("arguments")
    definition_display = _json_column("definition")
    groups_display = _json_column("groups")
    states_display = _json_column("states")
    listing_display = _json_column("listing")
    changed_display = _changed_column()


@admin.register(ToolSecret)
class ToolSecretAdmin(RowsAdmin):
    """The names of secrets, for owners; a value is never shown."""

    view_role = Role.OWNER
    list_display = ["name_display", "changed_display", "project_name"]
    list_filter = [ProjectFilter]
    search_fields = ["name", "id"]
    search_help_text = "Name or id of the secret"
    fields = ["id", "name_display", "project_name", "updated_at"]

    name_display = _name_column()
    changed_display = _changed_column()

    def get_queryset(self, request: Any) -> Any:
        return super().get_queryset(request).defer("encrypted_value")
