from __future__ import annotations

from django.contrib import admin

from common.admin import panels
from common.admin.filters import DaysFilter, ProjectFilter, choice_filter, exact_filter
from common.admin.model_admin import GlobalAdmin, RowsAdmin
from common.admin.panels import format_time, label_column, short_text
from inference.models import ActiveModel, ModelCall

COLOURS = {"answered": "success", "invalid": "warning", "failed": "danger"}


@admin.register(ModelCall)
class ModelCallAdmin(RowsAdmin):
    list_display = [
        "purpose",
        "outcome_shown",
        "model_shown",
        "tokens",
        "cost",
        "project_name",
        "at_shown",
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
        (None, {"fields": ["purpose", "outcome_shown", "error_shown", "project_name"]}),
        ("Model", {"fields": ["model_shown", "prompt_version", "attempt", "run_id"]}),
        (
            "Cost",
            {
                "fields": [
                    "prompt_tokens",
                    "answer_tokens",
                    "cost",
                    "took_ms",
                    "at_shown",
                ]
            },
        ),
    ]

    model_shown = staticmethod(
        panels.column("model", lambda name: short_text(name, 60), title="model")
    )
    error_shown = staticmethod(
        panels.column(
            "error", lambda error: panels.text_block(error, 500), title="error"
        )
    )
    at_shown = staticmethod(panels.column("at", format_time, title="at", ordering="id"))

    @label_column("outcome", COLOURS, "outcome")
    def outcome_shown(self, call: ModelCall) -> str:
        return call.outcome

    @admin.display(description="tokens")
    def tokens(self, call: ModelCall) -> str:
        return f"{call.prompt_tokens:,} + {call.answer_tokens:,}"


@admin.register(ActiveModel)
class ActiveModelAdmin(GlobalAdmin):
    """Changed by `manage.py reembed`, never by hand."""

    list_display = ["name", "since_shown"]
    search_fields = ["name"]
    fields = ["name", "choice_shown", "since_shown"]

    choice_shown = staticmethod(panels.column("choice", panels.json_block))
    since_shown = staticmethod(panels.column("since", format_time, ordering="since"))
