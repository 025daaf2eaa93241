from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from audit import admin as audit_admin
from common.admin import panels
from common.admin.filters import ProjectFilter, exact_filter
from common.admin.model_admin import RowsAdmin, caller_of
from common.admin.pages import AdminPage
from common.admin.panels import PANEL_LIMIT, Panel, format_time, short_text
from common.caller import Role
from context.admin.digest_forms import DigestConfigForm, DigestPreviewForm
from context.admin.digest_preview import render
from context.digest import digest_configs, digest_options
from context.models import DigestConfig

PREVIEW = AdminPage(
    "preview",
    "Preview a digest",
    Role.VIEWER,
    DigestPreviewForm,
    render,
    "Show the digest",
    description="The digest of an agent before a turn: its lines, and the reason why each "
    "other candidate is left out. Nothing is recorded.",
    query_for_row=lambda row: {"project": row.project_id, "agent_id": row.agent_id},
)


@admin.register(DigestConfig)
class DigestConfigAdmin(RowsAdmin):
    form = DigestConfigForm
    add_role = change_role = Role.CURATOR
    pages = [PREVIEW]
    list_display = [
        "agent_display",
        "config_display",
        "version",
        "by_display",
        "project_name",
        "changed_display",
    ]
    list_filter = [ProjectFilter, exact_filter("agent_id", "agent")]
    search_fields = ["agent_id", "id"]
    search_help_text = "An agent"
    readonly_fields = [
        "agent_display",
        "config_in_full",
        "project_name",
        "by_display",
        "changed_display",
    ]
    add_fieldsets = [(None, {"fields": ["project", "agent_id", "config"]})]

    by_display = staticmethod(
        panels.column(
            "updated_by", lambda name: short_text(name, 60), title="changed by"
        )
    )
    changed_display = staticmethod(
        panels.column("updated_at", format_time, title="changed", ordering="updated_at")
    )
    config_in_full = staticmethod(
        panels.column("config", panels.json_block, title="settings")
    )

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).select_related("project")

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is None:
            return self.add_fieldsets
        edits = self.has_change_permission(request, obj)
        settings = ["config", "version"] if edits else ["config_in_full"]
        record = ["by_display", "changed_display"]
        return [
            (None, {"fields": ["agent_display", "project_name", *settings]}),
            ("Record", {"fields": record}),
        ]

    @admin.display(description="agent", ordering="agent_id")
    def agent_display(self, row: DigestConfig) -> Any:
        return short_text(row, 60)

    @admin.display(description="settings")
    def config_display(self, row: DigestConfig) -> Any:
        settings = [
            f"{name} = {_json(value)}" for name, value in flatten(row.config).items()
        ]
        return short_text("; ".join(settings) or "nothing set")

    def panels(self, request: HttpRequest, row: Any) -> Iterable[Panel]:
        caller = caller_of(request)
        above = digest_configs.find(row.project, "", caller) if row.agent_id else None
        layers = [
            ("this agent" if row.agent_id else "the project", row.config),
            ("the project", above.config if above else {}),
        ]
        holds = digest_configs.effective_options(row.project, row.agent_id, caller)
        yield settings_panel(
            holds, [(name, flatten(config)) for name, config in layers]
        )

    def history_panels(self, request: HttpRequest, row: Any) -> list[Panel]:
        return [audit_admin.history_panel(row.pk, caller_of(request))]


def settings_panel(
    holds: digest_options.DigestOptions, layers: list[tuple[str, dict[str, Any]]]
) -> Panel:
    """List each setting with its value and the layer that the value comes from."""

    def origin(setting: str) -> str:
        return next((name for name, config in layers if setting in config), "default")

    return panels.table(
        "Effective settings",
        ["Setting", "Value", "Set by"],
        (
            [setting, short_text(_json(value), PANEL_LIMIT), origin(setting)]
            for setting, value in flatten(holds.model_dump()).items()
        ),
    )


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def flatten(config: Any, path: str = "") -> dict[str, Any]:
    """Return the config as a flat dict, such as {"budgets.total.max_items": 12}."""
    result: dict[str, Any] = {}
    for name, value in config.items():
        if isinstance(value, Mapping):
            result |= flatten(value, f"{path}{name}.")
        else:
            result[f"{path}{name}"] = value
    return result
