from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db.models import Exists, OuterRef
from django.http import HttpRequest
from django.utils.safestring import SafeString

from ace import run_actions
from ace.models import AceRun, Reflection
from ace.run_panels import (
    calls_panel,
    evidence_panel,
    lessons_panel,
    observations_panel,
    phases_panel,
    producer_of,
    quote_panels,
    reflection_panel,
    result_panel,
)
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
    text_block,
)
from playbook.admin.deltas import PlaybookDeltaAdmin
from playbook.admin.panel_tables import history_panel
from playbook.models import Exposure, PlaybookChange, PlaybookDelta

MEMORY = "memories_memory"
RUN = "ace_acerun"
STATE_FIELDS = ["state_shown", "outcome_shown", "project_name", "memory_shown"]
STATE_COLOURS = {"running": "warning", "done": "success", "failed": "danger"}
OUTCOME_COLOURS = {
    "success": "success",
    "partial": "warning",
    "failure": "danger",
    "unknown": "default",
}


class EntriesFilter(ChoiceFilter):
    """Whether the agent had entries of the playbook at hand."""

    title = "playbook entries"
    parameter_name = "entries"
    options = (("given", "given"), ("none", "none given"))

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        given = Exposure.objects.visible_to(caller_of(request))
        had = Exists(given.filter(run_id=OuterRef("pk")))
        match self.value():
            case "given":
                return queryset.filter(had)
            case "none":
                return queryset.filter(~had)
        return queryset.none() if self.value() else queryset


@admin.register(AceRun)
class AceRunAdmin(RowsAdmin):
    list_display = [
        "goal_shown",
        "state_shown",
        "outcome_shown",
        "agent",
        "took",
        "project_name",
        "created_shown",
    ]
    list_filter = [
        ProjectFilter,
        choice_filter("state", AceRun.State.choices),
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
                    "created_shown",
                    "finished_at",
                ],
                "classes": ["tab"],
            },
        ),
        ("Answered", {"fields": ["result_shown"], "classes": ["tab"]}),
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
    created_shown = staticmethod(
        panels.column("created_at", format_time, title="received", ordering="id")
    )
    result_shown = staticmethod(
        panels.column("result", panels.json_block, title="ACEResult")
    )

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).select_related("reflection")

    @admin.display(description="goal")
    def goal_shown(self, run: AceRun) -> SafeString:
        return short_text(run.request.get("goal") or "(no goal)", 110)

    @label_column("state", STATE_COLOURS, "state")
    def state_shown(self, run: AceRun) -> str:
        return run.state

    @label_column("outcome", OUTCOME_COLOURS, "reflection__outcome")
    def outcome_shown(self, run: AceRun) -> str:
        return run.reflection.outcome if hasattr(run, "reflection") else ""

    @admin.display(description="took")
    def took(self, run: AceRun) -> str:
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
        shown = {"goal", "result", "feedback", "tool_usage"}
        rest = {name: value for name, value in run.request.items() if name not in shown}
        return panels.json_block(rest, 4_000)

    @admin.display(description="memory")
    def memory_shown(self, run: AceRun) -> Any:
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


@admin.register(Reflection)
class ReflectionAdmin(RowsAdmin):
    list_display = [
        "outcome_shown",
        "outcome_source",
        "cause_shown",
        "insight",
        "run_shown",
        "project_name",
        "created_shown",
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
                    "run_shown",
                    "outcome_shown",
                    "outcome_source",
                    "outcome_confidence",
                    "outcome_reason",
                    "abstained",
                    "by_shown",
                    "notes_shown",
                ]
            },
        ),
        (
            "Findings",
            {
                "fields": [
                    "cause_shown",
                    "error_shown",
                    "approach_shown",
                    "insight_shown",
                    "insights_shown",
                    "lessons_shown",
                    "votes_shown",
                    "related_shown",
                ]
            },
        ),
        ("Record", {"fields": ["project_name", "created_shown"]}),
    ]

    cause_shown = staticmethod(
        panels.column(
            "root_cause", short_text, title="root cause", ordering="root_cause"
        )
    )
    insight = staticmethod(
        panels.column(
            "key_insight", lambda text: short_text(text, 110), title="insight"
        )
    )
    error_shown = staticmethod(
        panels.column("error_identification", text_block, title="error identification")
    )
    approach_shown = staticmethod(
        panels.column("correct_approach", text_block, title="correct approach")
    )
    insight_shown = staticmethod(
        panels.column("key_insight", text_block, title="key insight")
    )
    insights_shown = staticmethod(
        panels.column("insights", panels.json_block, title="insights")
    )
    lessons_shown = staticmethod(
        panels.column("lessons", panels.json_block, title="lessons")
    )
    votes_shown = staticmethod(panels.column("votes", panels.json_block, title="votes"))
    notes_shown = staticmethod(panels.column("notes", panels.json_block, title="notes"))
    related_shown = staticmethod(
        panels.column("related", panels.json_block, title="related entries")
    )
    created_shown = staticmethod(
        panels.column("created_at", format_time, title="made", ordering="id")
    )

    @label_column("outcome", OUTCOME_COLOURS, "outcome")
    def outcome_shown(self, found: Reflection) -> str:
        return found.outcome

    @admin.display(description="reflected by")
    def by_shown(self, found: Reflection) -> SafeString:
        return producer_of(found)

    @admin.display(description="run")
    def run_shown(self, found: Reflection) -> Any:
        return row_link(RUN, found.run_id)

    def panels(self, request: HttpRequest, row: Any) -> Iterable[Panel]:
        yield evidence_panel(row.evidence, text_reader(row.run))


# The playbook knows no runs; here the quotes of a delta are shown where they stand.
admin.site.unregister(PlaybookDelta)


@admin.register(PlaybookDelta)
class LearnedDeltaAdmin(PlaybookDeltaAdmin):
    def evidence(self, request: HttpRequest, row: Any) -> Panel:
        runs = AceRun.objects.visible_to(caller_of(request))
        run = runs.filter(pk=row.run_id).first() if row.run_id else None
        if run is None:
            return super().evidence(request, row)
        return evidence_panel(row.evidence, text_reader(run))
