"""The admin of the runs of agents."""

from __future__ import annotations

from typing import Any

from django.contrib import admin

from agents.models import AgentRun
from common.admin import panels
from common.admin.filters import (
    DaysFilter,
    ProjectFilter,
    choice_filter,
    exact_filter,
)
from common.admin.model_admin import RowsAdmin
from common.admin.panels import format_time, row_link, short_text


def _json_column(name: str, title: str = "") -> Any:
    return staticmethod(panels.column(name, panels.json_block, title=title or name))


@admin.register(AgentRun)
class AgentRunAdmin(RowsAdmin):
    list_display = [
        "question_display",
        "status",
        "user_display",
        "agent_display",
        "iterations",
        "created_display",
        "project_name",
    ]
    list_filter = [
        ProjectFilter,
        choice_filter("status", AgentRun.RunStatus.choices),
        exact_filter("user_id", "user"),
        exact_filter("agent_id", "agent"),
        exact_filter("session_id", "session", name="session"),
        ("created_at", DaysFilter),
    ]
    search_fields = ["id", "conversation_id"]
    search_help_text = "Id of the run, or of its conversation"
    fields = [
        "id",
        "project_name",
        "status",
        "session_display",
        "conversation_display",
        "user_display",
        "agent_display",
        "actor_display",
        "has_memory",
        "request_display",
        "steps_display",
        "pending_display",
        "answer_block",
        "error_display",
        "iterations",
        "prompt_tokens",
        "answer_tokens",
        "memory_display",
        "learned_display",
        "created_at",
        "alive_at",
        "ended_at",
    ]

    question_display = staticmethod(
        panels.column("__str__", lambda text: short_text(text()), title="question")
    )
    user_display = staticmethod(
        panels.column("user_id", lambda pk: short_text(pk or "anonymous", 40))
    )
    agent_display = staticmethod(
        panels.column("agent_id", lambda pk: short_text(pk, 40), title="agent")
    )
    actor_display = staticmethod(
        panels.column("actor", lambda name: short_text(name, 60), title="asked by")
    )
    conversation_display = staticmethod(
        panels.column(
            "conversation_id", lambda key: short_text(key, 60), title="conversation"
        )
    )
    answer_block = staticmethod(panels.column("answer", panels.text_block))
    request_display = _json_column("request")
    steps_display = _json_column("steps")
    pending_display = _json_column("pending_call", "pending call")
    error_display = _json_column("error")
    memory_display = _json_column("memory")
    learned_display = _json_column("learned")
    created_display = staticmethod(
        panels.column("created_at", format_time, title="created", ordering="id")
    )

    @admin.display(description="session")
    def session_display(self, run: AgentRun) -> Any:
        return row_link("conversations_session", run.session_id)
