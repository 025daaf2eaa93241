from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString

from ace.admin.run_panels import OUTCOME_COLOURS, evidence_panel, producer_of
from ace.models import Reflection
from ace.run_texts import text_reader
from common.admin import panels
from common.admin.filters import DaysFilter, ProjectFilter, choice_filter, exact_filter
from common.admin.model_admin import RowsAdmin
from common.admin.panels import (
    Panel,
    format_time,
    label_column,
    row_link,
    short_text,
    text_block,
)

RUN = "ace_acerun"


@admin.register(Reflection)
class ReflectionAdmin(RowsAdmin):
    list_display = [
        "outcome_display",
        "outcome_source",
        "cause_display",
        "insight",
        "run_display",
        "project_name",
        "created_display",
    ]
    list_filter = [
        ProjectFilter,
        choice_filter("outcome", [(outcome, outcome) for outcome in OUTCOME_COLOURS]),
        exact_filter("outcome_source", "source of the outcome"),
        exact_filter("root_cause", "root cause"),
        ("created_at", DaysFilter),
    ]
    search_fields = ["run_id", "id", "root_cause", "key_insight__icontains"]
    search_help_text = "Words of the insight, a root cause, or the id of a run"
    fieldsets = [
        (
            None,
            {
                "fields": [
                    "run_display",
                    "outcome_display",
                    "outcome_source",
                    "outcome_confidence",
                    "outcome_reason",
                    "abstained",
                    "by_display",
                    "notes_display",
                ]
            },
        ),
        (
            "Findings",
            {
                "fields": [
                    "cause_display",
                    "error_display",
                    "approach_display",
                    "insight_display",
                    "insights_display",
                    "lessons_display",
                    "votes_display",
                    "related_display",
                ]
            },
        ),
        ("Record", {"fields": ["project_name", "created_display"]}),
    ]

    cause_display = staticmethod(
        panels.column(
            "root_cause", short_text, title="root cause", ordering="root_cause"
        )
    )
    insight = staticmethod(
        panels.column(
            "key_insight", lambda text: short_text(text, 110), title="insight"
        )
    )
    error_display = staticmethod(
        panels.column("error_identification", text_block, title="error identification")
    )
    approach_display = staticmethod(
        panels.column("correct_approach", text_block, title="correct approach")
    )
    insight_display = staticmethod(
        panels.column("key_insight", text_block, title="key insight")
    )
    insights_display = staticmethod(
        panels.column("insights", panels.json_block, title="insights")
    )
    lessons_display = staticmethod(
        panels.column("lessons", panels.json_block, title="lessons")
    )
    votes_display = staticmethod(
        panels.column("votes", panels.json_block, title="votes")
    )
    notes_display = staticmethod(
        panels.column("notes", panels.json_block, title="notes")
    )
    related_display = staticmethod(
        panels.column("related", panels.json_block, title="related entries")
    )
    created_display = staticmethod(
        panels.column("created_at", format_time, title="created", ordering="id")
    )

    @label_column("outcome", OUTCOME_COLOURS, "outcome")
    def outcome_display(self, reflection: Reflection) -> str:
        return reflection.outcome

    @admin.display(description="reflected by")
    def by_display(self, reflection: Reflection) -> SafeString:
        return producer_of(reflection)

    @admin.display(description="run")
    def run_display(self, reflection: Reflection) -> Any:
        return row_link(RUN, reflection.run_id)

    def panels(self, request: HttpRequest, row: Any) -> Iterable[Panel]:
        yield evidence_panel(row.evidence, text_reader(row.run))
