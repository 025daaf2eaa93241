from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db.models import Exists, OuterRef
from django.http import HttpRequest
from django.utils.safestring import SafeString

from ace.admin import run_actions
from ace.admin.run_panels import (
    OUTCOME_COLOURS,
    calls_panel,
    evidence_panel,
    lessons_panel,
    observations_panel,
    phases_panel,
    quote_panels,
    reflection_panel,
    result_panel,
)
from ace.models import AceRun
from ace.run_texts import text_reader
from audit import admin as audit_admin
from common.admin import panels
from common.admin.filters import (
    ChoiceFilter,
    DaysFilter,
    ProjectFilter,
    choice_filter,
    exact_filter,
)
from common.admin.model_admin import RowsAdmin, caller_of
from common.admin.panels import (
    Panel,
    format_time,
    label_column,
    row_link,
    short_text,
)
from playbook.admin.panel_tables import history_panel
from playbook.models import Exposure, PlaybookChange

MEMORY = "memories_memory"
STATE_FIELDS = ["state_display", "outcome_display", "project_name", "memory_display"]
STATE_COLOURS = {"running": "warning", "done": "success", "failed": "danger"}


class EntriesFilter(ChoiceFilter):
    """Filter runs by whether the agent was given playbook entries."""

    title = "playbook entries"
    parameter_name = "entries"
    options = (("given", "given"), ("none", "none given"))

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        exposures = Exposure.objects.visible_to(caller_of(request))
        has_exposure = Exists(exposures.filter(run_id=OuterRef("pk")))
        match self.value():
            case "given":
                return queryset.filter(has_exposure)
            case "none":
                return queryset.filter(~has_exposure)
        return queryset.none() if self.value() else queryset


@admin.register(AceRun)
class AceRunAdmin(RowsAdmin):
    list_display = [
        "goal_display",
        "state_display",
        "outcome_display",
        "agent",
        "duration",
        "project_name",
        "created_display",
    ]
    list_filter = [
        ProjectFilter,
        choice_filter("state", AceRun.RunState.choices),
        choice_filter(
            "reflection__outcome",
            [(o, o) for o in OUTCOME_COLOURS],
            "outcome",
            name="outcome",
        ),
        exact_filter("reflection__root_cause", "root cause", name="cause"),
        exact_filter("agent_id", "agent"),
        EntriesFilter,
        ("created_at", DaysFilter),
    ]
    list_select_related = ["reflection"]
    search_fields = ["id", "agent_id", "memory_id", "request__goal__icontains"]
    search_help_text = "Words of the goal, an agent, or an id"
    fieldsets = [
        (None, {"fields": [*STATE_FIELDS, "goal_in_full"]}),
        (
            "Sent",
            {
                "fields": ["result_in_full", "feedback_in_full", "further"],
                "classes": ["tab"],
            },
        ),
        (
            "Record",
            {
                "fields": [
                    "id",
                    "agent",
                    "actor",
                    "created_display",
                    "finished_at",
                ],
                "classes": ["tab"],
            },
        ),
        ("Answered", {"fields": ["result_display"], "classes": ["tab"]}),
    ]
    row_actions = run_actions.ALL_ACTIONS

    agent = staticmethod(
        panels.column(
            "agent_id",
            lambda agent: short_text(agent, 40),
            title="agent",
            ordering="agent_id",
        )
    )
    created_display = staticmethod(
        panels.column("created_at", format_time, title="received", ordering="id")
    )
    result_display = staticmethod(
        panels.column("result", panels.json_block, title="ACEResult")
    )

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).select_related("reflection")

    @admin.display(description="goal")
    def goal_display(self, run: AceRun) -> SafeString:
        return short_text(run.request.get("goal") or "(no goal)", 110)

    @label_column("state", STATE_COLOURS, "state")
    def state_display(self, run: AceRun) -> str:
        return run.state

    @label_column("outcome", OUTCOME_COLOURS, "reflection__outcome")
    def outcome_display(self, run: AceRun) -> str:
        return run.reflection.outcome if hasattr(run, "reflection") else ""

    @admin.display(description="took")
    def duration(self, run: AceRun) -> str:
        spent = [
            phase.get("took_ms", 0)
            for phase in run.phases.values()
            if isinstance(phase, dict)
        ]
        return f"{sum(spent):,.0f} ms" if spent else ""

    @admin.display(description="goal")
    def goal_in_full(self, run: AceRun) -> SafeString:
        return panels.text_block(run.request.get("goal") or "")

    @admin.display(description="result")
    def result_in_full(self, run: AceRun) -> SafeString:
        return panels.text_block(run.request.get("result") or "")

    @admin.display(description="feedback")
    def feedback_in_full(self, run: AceRun) -> SafeString:
        return panels.text_block(run.request.get("feedback") or "")

    @admin.display(description="further")
    def further(self, run: AceRun) -> SafeString:
        excluded = {"goal", "result", "feedback", "tool_usage"}
        rest = {
            name: value for name, value in run.request.items() if name not in excluded
        }
        return panels.json_block(rest, 4_000)

    @admin.display(description="memory")
    def memory_display(self, run: AceRun) -> Any:
        return row_link(MEMORY, run.memory_id)

    def panels(self, request: HttpRequest, row: Any) -> Iterable[Panel]:
        caller, text_of = caller_of(request), text_reader(row)
        yield from quote_panels(request.GET, text_of)
        yield phases_panel(row)
        yield result_panel(row, caller)
        if hasattr(row, "reflection"):
            yield reflection_panel(row.reflection)
            yield lessons_panel(row.reflection.lessons, text_of)
            yield evidence_panel(row.reflection.evidence, text_of)
        yield observations_panel(row.observations.order_by("pk"))
        changes = PlaybookChange.objects.visible_to(caller).filter(run_id=row.pk)
        yield history_panel(changes)
        yield calls_panel(row)

    def history_panels(self, request: HttpRequest, row: Any) -> list[Panel]:
        return [audit_admin.history_panel(row.pk, caller_of(request))]
