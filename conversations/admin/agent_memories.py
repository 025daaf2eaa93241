"""The admin of agent memories and their changelog."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse

from common.admin import panels
from common.admin.filters import ProjectFilter, choice_filter, exact_filter
from common.admin.model_admin import RowsAdmin
from common.admin.panels import format_time, row_link, short_text
from conversations.models import AgentMemory, AgentMemoryChange

OF_PAIR = [exact_filter("user_id", "user"), exact_filter("agent_id", "agent")]


def _short_column(name: str, title: str = "") -> Any:
    return staticmethod(
        panels.column(name, lambda text: short_text(text, 40), title=title)
    )


@admin.register(AgentMemory)
class AgentMemoryAdmin(RowsAdmin):
    list_display = [
        "agent_display",
        "user_display",
        "profile_display",
        "version",
        "updated_at",
        "project_name",
    ]
    list_filter = [ProjectFilter, *OF_PAIR]
    search_fields = ["agent_id", "user_id", "id"]
    search_help_text = "Agent, user or id"
    fields = [
        "id",
        "agent_display",
        "user_display",
        "project_name",
        "profile_block",
        "soul_block",
        "constraints_display",
        "version",
        "updated_at",
    ]

    agent_display = _short_column("agent_id", "agent")
    user_display = _short_column("user_id", "user")
    profile_display = staticmethod(panels.column("profile", short_text))
    profile_block = staticmethod(panels.column("profile", panels.text_block))
    soul_block = staticmethod(panels.column("soul", panels.text_block))
    constraints_display = staticmethod(
        panels.column("constraints", panels.json_block, title="constraints")
    )

    def links(self, request: HttpRequest, row: Any) -> list[dict[str, str]]:
        query = urlencode(
            {
                "project": row.project_id,
                "user": row.user_id or "0",
                "agent": row.agent_id,
            }
        )
        url = f"{reverse('console:agent_memory')}?{query}"
        return [{"label": "Edit, history, roll back", "url": url}]


@admin.register(AgentMemoryChange)
class AgentMemoryChangeAdmin(RowsAdmin):
    list_display = [
        "at_display",
        "action",
        "scope",
        "agent_display",
        "user_display",
        "actor_display",
        "project_name",
    ]
    list_filter = [
        ProjectFilter,
        *OF_PAIR,
        choice_filter("scope", AgentMemoryChange.ChangeScope.choices),
        choice_filter("action", AgentMemoryChange.ChangeAction.choices),
        choice_filter("source", AgentMemoryChange.ChangeSource.choices),
    ]
    search_fields = ["session_key", "actor", "id"]
    search_help_text = "Key of the session, actor or id"
    fields = [
        "at_display",
        "action",
        "scope",
        "source",
        "actor_display",
        "agent_display",
        "user_display",
        "session_display",
        "project_name",
        "version_before",
        "version_after",
        "before_block",
        "after_block",
    ]

    at_display = staticmethod(
        panels.column("created_at", format_time, title="when", ordering="id")
    )
    agent_display = _short_column("agent_id", "agent")
    user_display = _short_column("user_id", "user")
    actor_display = _short_column("actor")
    before_block = staticmethod(
        panels.column("before_text", panels.text_block, title="before")
    )
    after_block = staticmethod(
        panels.column("after_text", panels.text_block, title="after")
    )

    @admin.display(description="session")
    def session_display(self, change: AgentMemoryChange) -> Any:
        label = change.session_key or change.session_id
        return row_link("conversations_session", change.session_id, label)
