"""The admin of sessions."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse

from audit import admin as audit_admin
from common.admin import panels
from common.admin.actions import AdminAction
from common.admin.filters import (
    DaysFilter,
    ProjectFilter,
    exact_filter,
    presence_filter,
)
from common.admin.model_admin import RowsAdmin, caller_of
from common.admin.panels import Panel, format_time, short_text
from common.caller import Caller, Role
from conversations.models import Session
from conversations.sessions.lifecycle import update_session


def _archive(session: Session, caller: Caller, text: str) -> Session:
    return update_session(session, {"archived": True}, caller)


def _restore(session: Session, caller: Caller, text: str) -> Session:
    return update_session(session, {"archived": False}, caller)


@admin.register(Session)
class SessionAdmin(RowsAdmin):
    list_display = [
        "title_display",
        "user_display",
        "agent_display",
        "message_count",
        "token_count",
        "active_display",
        "project_name",
    ]
    list_filter = [
        ProjectFilter,
        presence_filter("archived_at", "archived"),
        exact_filter("user_id", "user"),
        exact_filter("agent_id", "agent"),
        exact_filter("channel"),
        ("last_active", DaysFilter),
    ]
    search_fields = ["key", "id"]
    search_help_text = "Key or id of the session"
    fields = [
        "id",
        "key",
        "title",
        "user_id",
        "agent_id",
        "channel",
        "project_name",
        "message_count",
        "token_count",
        "context_tokens",
        "token_budget",
        "snapshot_version",
        "snapshot_at",
        "created_at",
        "last_active",
        "archived_at",
        "ended_at",
        "metadata_display",
    ]
    row_actions = [
        AdminAction(
            "archive",
            "Archive",
            Role.WRITER,
            _archive,
            "archived",
            is_possible=lambda session, caller: not session.is_archived,
        ),
        AdminAction(
            "restore",
            "Restore",
            Role.WRITER,
            _restore,
            "restored",
            is_possible=lambda session, caller: session.is_archived,
        ),
    ]

    title_display = staticmethod(
        panels.column("__str__", lambda text: short_text(text()), title="session")
    )
    user_display = staticmethod(
        panels.column("user_id", lambda pk: short_text(pk or "anonymous", 40))
    )
    agent_display = staticmethod(
        panels.column("agent_id", lambda pk: short_text(pk, 40), title="agent")
    )
    active_display = staticmethod(
        panels.column(
            "last_active", format_time, title="last active", ordering="last_active"
        )
    )
    metadata_display = staticmethod(
        panels.column("metadata", panels.json_block, title="metadata")
    )

    def links(self, request: HttpRequest, row: Any) -> list[dict[str, str]]:
        page = reverse("console:session", args=[row.pk])
        transcript = {"label": "Transcript", "url": f"{page}?project={row.project_id}"}
        return [transcript, *super().links(request, row)]

    def history_panels(self, request: HttpRequest, row: Any) -> list[Panel]:
        return [audit_admin.history_panel(row.pk, caller_of(request))]
