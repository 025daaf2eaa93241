"""Runs as a list; a failed run is resumed here."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Exists, OuterRef
from django.http import HttpRequest
from django.utils.safestring import SafeString

from ace import run as runs
from ace.models import AceRun
from audit.admin import AuditedAdmin
from common.admin.filters import (
    ChoiceFilter,
    DaysFilter,
    ProjectFilter,
    choice_filter,
    exact_filter,
)
from common.admin.model_admin import AdminAction, caller_of
from common.admin.panels import (
    column,
    format_time,
    json_block,
    label_column,
    row_link,
    short_text,
    text_block,
)
from common.caller import Role
from playbook.models import Exposure

OUTCOME_COLOURS = {
    "success": "success",
    "partial": "warning",
    "failure": "danger",
    "unknown": "default",
}
STATE_COLOURS = {"running": "warning", "done": "success", "failed": "danger"}
TEXTS = ("goal", "result", "feedback")  # of the request
# What the page of a run shows of its reflection.
FOUND = (
    "outcome",
    "outcome_source",
    "outcome_reason",
    "abstained",
    "errors",
    "lessons",
    "votes",
)


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
class AceRunAdmin(AuditedAdmin):
    list_title = "Runs"
    list_display = [
        "goal_display",
        "state_display",
        "outcome_display",
        "agent_display",
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
        exact_filter("agent_id", "agent"),
        EntriesFilter,
        ("created_at", DaysFilter),
    ]
    list_select_related = ["reflection"]
    search_fields = ["id", "agent_id", "memory_id", "request__goal__icontains"]
    search_help_text = "Words of the goal, an agent, or an id"
    fieldsets = [
        (
            None,
            {
                "fields": [
                    "state_display",
                    "outcome_display",
                    "project_name",
                    "memory_display",
                    *(f"{name}_block" for name in TEXTS),
                    "further_display",
                ]
            },
        ),
        ("Found", {"fields": ["found_display", "phases_display", "result_display"]}),
        (
            "Record",
            {
                "fields": [
                    "id",
                    "agent_display",
                    "actor_display",
                    "created_display",
                    "finished_at",
                ]
            },
        ),
    ]
    row_actions = [
        AdminAction(
            "resume",
            "Resume",
            Role.WRITER,
            lambda run, caller, text: runs.resume(run, caller),
            "resumed; its phases show the progress",
            is_possible=lambda run, caller: run.state != AceRun.RunState.DONE,
        )
    ]

    agent_display = column("agent_id", lambda pk: short_text(pk, 40), title="agent")
    actor_display = column("actor", short_text)
    created_display = column("created_at", format_time, title="received", ordering="id")
    phases_display = column("phases", json_block)
    result_display = column("result", json_block, title="ACEResult")

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

    @admin.display(description="goal")
    def goal_block(self, run: AceRun) -> SafeString:
        return text_block(run.request.get("goal") or "")

    @admin.display(description="result")
    def result_block(self, run: AceRun) -> SafeString:
        return text_block(run.request.get("result") or "")

    @admin.display(description="feedback")
    def feedback_block(self, run: AceRun) -> SafeString:
        return text_block(run.request.get("feedback") or "")

    @admin.display(description="further")
    def further_display(self, run: AceRun) -> SafeString:
        request = run.request.items()
        return json_block({name: value for name, value in request if name not in TEXTS})

    @admin.display(description="reflection")
    def found_display(self, run: AceRun) -> SafeString:
        if not hasattr(run, "reflection"):
            return SafeString("")
        found = {name: getattr(run.reflection, name) for name in FOUND}
        return json_block({name: value for name, value in found.items() if value})

    @admin.display(description="memory")
    def memory_display(self, run: AceRun) -> Any:
        return row_link("memories_memory", run.memory_id)
