from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from audit.admin import AuditedAdmin
from common.admin.filters import (
    ChoiceFilter,
    DaysFilter,
    ProjectFilter,
    choice_filter,
    exact_filter,
)
from common.admin.panels import (
    column,
    format_time,
    label_column,
    short_text,
    text_block,
)
from playbook.models import PlaybookDelta

DECISIONS = {
    "pending": "warning",
    "applied": "success",
    "accepted": "success",
    "edited": "success",
    "rejected": "danger",
    "reverted": "info",
    "stale": "default",
}
RISKS = {
    "low": "success",
    "medium": "warning",
    "high": "danger",
    "quarantine": "danger",
}


class DecisionFilter(ChoiceFilter):
    title = "decided by"
    parameter_name = "decided_by"
    options = (("person", "a person"), ("service", "gates and policy"))

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        match self.value():
            case "person":
                return queryset.exclude(reviewer="")
            case "service":
                return queryset.filter(reviewer="").exclude(status="pending")
        return queryset.none() if self.value() else queryset


@admin.register(PlaybookDelta)
class PlaybookDeltaAdmin(AuditedAdmin):
    list_title = "Proposals"
    list_display = [
        "operation",
        "text",
        "status_display",
        "risk_display",
        "producer",
        "project_name",
        "created_display",
    ]
    list_filter = [
        ProjectFilter,
        choice_filter("status", PlaybookDelta.DeltaStatus.choices),
        choice_filter("operation", PlaybookDelta.DeltaOperation.choices),
        choice_filter("risk", [(risk, risk) for risk in RISKS]),
        choice_filter("producer", PlaybookDelta.Producer.choices),
        DecisionFilter,
        exact_filter("category"),
        exact_filter("run_id", "run"),
        ("created_at", DaysFilter),
    ]
    search_fields = ["content__icontains", "entry__label", "run_id", "id"]
    search_help_text = "Words of the text, a label, or the id of a run"
    fields = [
        "operation",
        "status_display",
        "risk_display",
        "content_display",
        "category",
        "reason",
        "project_name",
        "producer",
        "producer_name",
        "proposed_by",
        "agent_id",
        "run_id",
        "memory_id",
        "created_display",
        "reviewer",
        "review_note",
        "reviewed_at",
    ]

    content_display = column("content", text_block)
    created_display = column("created_at", format_time, title="created", ordering="id")

    @admin.display(description="text")
    def text(self, delta: PlaybookDelta) -> SafeString:
        return short_text(delta.content or delta.reason)

    @label_column("status", DECISIONS, "status")
    def status_display(self, delta: PlaybookDelta) -> str:
        return delta.status

    @label_column("risk", RISKS, "risk")
    def risk_display(self, delta: PlaybookDelta) -> str:
        return delta.risk

    def links(self, request: HttpRequest, row: Any) -> list[dict[str, str]]:
        card = reverse("console:inbox_card", args=[row.pk])
        url = f"{card}?project={row.project_id}"
        return [{"label": "Open in the inbox", "url": url}]
