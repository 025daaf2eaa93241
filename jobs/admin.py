from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Case, When
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from common.admin import panels
from common.admin.filters import ChoiceFilter, DaysFilter, ProjectFilter, choice_filter
from common.admin.model_admin import GlobalAdmin, RowsAdmin
from common.admin.panels import format_time, label_column
from jobs.models import Heartbeat, Job
from jobs.runner import HANDLERS

COLOURS = {
    "waiting": "info",
    "running": "warning",
    "done": "success",
    "failed": "danger",
}
URGENT_STATES = (Job.State.RUNNING, Job.State.WAITING, Job.State.FAILED)


URGENCY = Case(
    *(When(state=state, then=number) for number, state in enumerate(URGENT_STATES)),
    default=len(URGENT_STATES),
)


def _progress_bar(job: Job) -> SafeString:
    if not job.total:
        return SafeString("")
    return format_html(
        '<progress value="{}" max="{}" aria-label="Progress of {}"></progress>',
        job.done,
        job.total,
        job.kind,
    )


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
        choice_filter("state", Job.State.choices),
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

    class Media:
        js = ["admin/jobs.js"]

    error_shown = staticmethod(panels.column("error", panels.text_block))
    args_shown = staticmethod(panels.column("args", panels.json_block))
    result_shown = staticmethod(panels.column("result", panels.json_block))
    cursor_shown = staticmethod(panels.column("cursor", panels.json_block))
    created_shown = staticmethod(
        panels.column("created_at", format_time, title="created", ordering="id")
    )
    finished_shown = staticmethod(
        panels.column(
            "finished_at", format_time, title="finished", ordering="finished_at"
        )
    )

    @label_column("state", COLOURS, "state")
    def state_shown(self, job: Job) -> str:
        return job.state

    @admin.display(description="progress")
    def progress_shown(self, job: Job) -> SafeString:
        """Renewed by `jobs.js` while the job is unfinished."""
        told = f"{job.done:,} of {job.total:,}" if job.total else f"{job.done:,}"
        return format_html(
            '<span class="am-progress" data-job="{}" data-state="{}">{} {}</span>',
            job.pk,
            job.state,
            _progress_bar(job),
            told,
        )

    def get_ordering(self, request: HttpRequest) -> list[Any]:
        """What a person may have to look at comes first."""
        return [URGENCY.asc(), "-id"]


@admin.register(Heartbeat)
class HeartbeatAdmin(GlobalAdmin):
    list_display = ["name", "at_shown", "detail_shown"]
    search_fields = ["name"]
    fields = ["name", "at_shown", "detail_shown"]

    at_shown = staticmethod(panels.column("at", format_time, ordering="at"))
    detail_shown = staticmethod(
        panels.column("detail", lambda detail: panels.json_block(detail, 2_000))
    )
