from __future__ import annotations

from typing import Any

from django.contrib import admin

from common import panels
from common.admin import GlobalAdmin, RowsAdmin
from common.list_filters import ChoiceFilter, DaysFilter, ProjectFilter, chosen
from common.panels import labelled, moment, words
from jobs.models import Heartbeat, Job
from jobs.running import HANDLERS

COLOURS = {
    "waiting": "info",
    "running": "warning",
    "done": "success",
    "failed": "danger",
}


class KindFilter(ChoiceFilter):
    title = "kind"
    parameter_name = "kind"
    lookup = "kind"

    @property
    def options(self) -> tuple[tuple[str, str], ...]:  # type: ignore[override]  # known only after start
        return tuple((kind, kind) for kind in sorted(HANDLERS))


class JobAdmin(RowsAdmin):
    """Registered in `access`, whose operations a person runs on jobs."""

    list_display = [
        "kind",
        "state_shown",
        "progress_shown",
        "attempts",
        "project_name",
        "created_shown",
        "finished_shown",
    ]
    list_filter = [
        ProjectFilter,
        chosen("state", Job.State.choices),
        KindFilter,
        ("created_at", DaysFilter),
    ]
    search_fields = ["id", "key", "kind"]
    search_help_text = "Id, kind or key"
    fieldsets = [
        (None, {"fields": ["kind", "state_shown", "progress_shown", "error_shown"]}),
        ("Work", {"fields": ["project_name", "args_shown", "key", "result_shown"]}),
        (
            "Time",
            {
                "fields": [
                    "attempts",
                    "created_shown",
                    "run_after",
                    "started_at",
                    "lease_until",
                    "finished_shown",
                    "cursor_shown",
                ]
            },
        ),
    ]
    error_shown = staticmethod(panels.column("error", panels.block))
    args_shown = staticmethod(panels.column("args", panels.plain_json))
    result_shown = staticmethod(panels.column("result", panels.plain_json))
    cursor_shown = staticmethod(panels.column("cursor", panels.plain_json))
    created_shown = staticmethod(
        panels.column("created_at", moment, title="created", ordering="id")
    )
    finished_shown = staticmethod(
        panels.column("finished_at", moment, title="finished", ordering="finished_at")
    )

    @labelled("state", COLOURS, "state")
    def state_shown(self, job: Job) -> str:
        return job.state

    @admin.display(description="progress")
    def progress_shown(self, job: Job) -> Any:
        return words(f"{job.done:,} of {job.total:,}" if job.total else f"{job.done:,}")


@admin.register(Heartbeat)
class HeartbeatAdmin(GlobalAdmin):
    list_display = ["name", "at_shown", "detail_shown"]
    search_fields = ["name"]
    fields = ["name", "at_shown", "detail_shown"]

    at_shown = staticmethod(panels.column("at", moment, ordering="at"))
    detail_shown = staticmethod(
        panels.column("detail", lambda detail: panels.plain_json(detail, 2_000))
    )
