from __future__ import annotations

from django.contrib import admin

from common.admin import panels
from common.admin.filters import DaysFilter, ProjectFilter, choice_filter, exact_filter
from common.admin.model_admin import RowsAdmin
from common.admin.panels import format_time, label_column, short_text
from inference.models import ModelCall

COLOURS = {"answered": "success", "invalid": "warning", "failed": "danger"}


@admin.register(ModelCall)
class ModelCallAdmin(RowsAdmin):
    list_display = [
        "purpose",
        "outcome_display",
        "model_display",
        "tokens",
        "cost",
        "project_name",
        "at_display",
    ]
    list_filter = [
        ProjectFilter,
        choice_filter("outcome", ModelCall.Outcome.choices),
        exact_filter("purpose", "purpose"),
        ("at", DaysFilter),
    ]
    search_fields = ["id", "run_id"]
    search_help_text = "The id of a call or of a run"
    fieldsets = [
        (
            None,
            {"fields": ["purpose", "outcome_display", "error_display", "project_name"]},
        ),
        ("Model", {"fields": ["model_display", "prompt_version", "attempt", "run_id"]}),
        (
            "Cost",
            {
                "fields": [
                    "prompt_tokens",
                    "answer_tokens",
                    "cost",
                    "took_ms",
                    "at_display",
                ]
            },
        ),
    ]

    model_display = panels.column("model", lambda name: short_text(name, 60))
    error_display = panels.column("error", lambda error: panels.text_block(error, 500))
    at_display = panels.column("at", format_time, ordering="id")

    @label_column("outcome", COLOURS, "outcome")
    def outcome_display(self, call: ModelCall) -> str:
        return call.outcome

    @admin.display(description="tokens")
    def tokens(self, call: ModelCall) -> str:
        return f"{call.prompt_tokens:,} + {call.answer_tokens:,}"
