"""The admin of messages, summaries and their vectors."""

from __future__ import annotations

from typing import Any

from django.contrib import admin

from common.admin import panels
from common.admin.filters import (
    ProjectFilter,
    choice_filter,
    exact_filter,
    presence_filter,
)
from common.admin.model_admin import RowsAdmin
from common.admin.panels import format_time, row_link, short_text
from common.caller import Caller
from conversations.models import Message, MessageVector, Summary, SummaryVector

SESSION, MESSAGE, SUMMARY = (
    "conversations_session",
    "conversations_message",
    "conversations_summary",
)


class InSessionAdmin(RowsAdmin):
    """The admin of rows of sessions; wide columns that only search reads are left out."""

    list_select_related = ["session"]

    def visible_to(self, caller: Caller) -> Any:
        return self.model.objects.visible_to(caller).light()

    @admin.display(description="session")
    def session_display(self, row: Any) -> Any:
        return row_link(SESSION, row.session_id, row.session, 60)


@admin.register(Message)
class MessageAdmin(InSessionAdmin):
    list_display = [
        "text_display",
        "seq",
        "role",
        "tokens",
        "session_display",
        "created_display",
        "project_name",
    ]
    list_filter = [
        ProjectFilter,
        exact_filter("session_id", "session", name="session"),
        choice_filter("role", Message.MessageRole.choices),
        presence_filter("hidden_at", "hidden"),
    ]
    search_fields = ["id", "external_id"]
    search_help_text = "Id or external id of the message"
    fields = [
        "id",
        "session_display",
        "project_name",
        "seq",
        "role",
        "text_block",
        "parts_display",
        "tokens",
        "external_id",
        "metadata_display",
        "created_at",
        "hidden_at",
        "redacted_at",
        "leaf_display",
    ]

    text_display = staticmethod(panels.column("text", short_text))
    text_block = staticmethod(panels.column("text", panels.text_block))
    parts_display = staticmethod(
        panels.column("parts", panels.json_block, title="parts")
    )
    metadata_display = staticmethod(
        panels.column("metadata", panels.json_block, title="metadata")
    )
    created_display = staticmethod(
        panels.column("created_at", format_time, title="created", ordering="id")
    )

    @admin.display(description="summary")
    def leaf_display(self, message: Message) -> Any:
        return row_link(SUMMARY, message.leaf_id)


@admin.register(Summary)
class SummaryAdmin(InSessionAdmin):
    list_display = [
        "summary_id",
        "content_display",
        "kind",
        "depth",
        "message_count",
        "session_display",
        "project_name",
    ]
    list_filter = [
        ProjectFilter,
        exact_filter("session_id", "session", name="session"),
        choice_filter("kind", Summary.SummaryKind.choices),
        exact_filter("summarizer"),
    ]
    search_fields = ["summary_id", "id"]
    search_help_text = "Id of the summary"
    fields = [
        "summary_id",
        "session_display",
        "project_name",
        "kind",
        "depth",
        "first_seq",
        "last_seq",
        "message_count",
        "content_block",
        "tokens",
        "earliest_at",
        "latest_at",
        "summarizer",
        "model",
        "parent_display",
        "created_at",
    ]

    content_display = staticmethod(panels.column("content", short_text))
    content_block = staticmethod(panels.column("content", panels.text_block))

    @admin.display(description="parent")
    def parent_display(self, summary: Summary) -> Any:
        return row_link(SUMMARY, summary.parent_id)


class TextVectorAdmin(RowsAdmin):
    """The admin of the vectors of messages or of summaries; `owner` names which."""

    owner: str
    owner_page: str
    list_filter = [ProjectFilter, exact_filter("model")]
    fields = ["id", "owner_display", "model", "chunk", "project_name", "dimensions"]
    list_display = ["id", "owner_display", "model", "chunk", "project_name"]

    def visible_to(self, caller: Caller) -> Any:
        owners = self.model._meta.get_field(self.owner).related_model
        seen = owners.objects.visible_to(caller).values("pk")
        return self.model.objects.filter(**{f"{self.owner}__in": seen})

    @admin.display(description="of")
    def owner_display(self, row: Any) -> Any:
        return row_link(self.owner_page, getattr(row, f"{self.owner}_id"))

    @admin.display(description="dimensions")
    def dimensions(self, row: Any) -> int:
        return len(list(row.embedding))


@admin.register(MessageVector)
class MessageVectorAdmin(TextVectorAdmin):
    owner, owner_page = "message", MESSAGE
    search_fields = ["message_id", "id"]
    search_help_text = "Id of the message"


@admin.register(SummaryVector)
class SummaryVectorAdmin(TextVectorAdmin):
    owner, owner_page = "summary", SUMMARY
    search_fields = ["summary_id", "id"]
    search_help_text = "Id of the summary"
