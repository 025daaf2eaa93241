from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Case, When
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from access import job_actions
from audit.admin import AuditedAdmin
from common.admin import panels
from common.admin.filters import ChoiceFilter, DaysFilter, ProjectFilter, choice_filter
from common.admin.model_admin import AdminAction
from common.admin.panels import format_time, label_column
from common.caller import Role
from jobs.models import Job
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


@admin.register(Job)
class JobAdmin(AuditedAdmin):
    list_display = [
        "kind",
        "state_display",
        "progress_display",
        "attempts",
        "project_name",
        "created_display",
        "finished_display",
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
        (
            None,
            {"fields": ["kind", "state_display", "progress_display", "error_display"]},
        ),
        ("Work", {"fields": ["project_name", "args_display", "key", "result_display"]}),
        (
            "Time",
            {
                "fields": [
                    "attempts",
                    "created_display",
                    "run_after",
                    "started_at",
                    "lease_until",
                    "finished_display",
                    "cursor_display",
                ]
            },
        ),
    ]

    row_actions = [
        AdminAction(
            "retry",
            "Retry",
            Role.CURATOR,
            lambda job, caller, text: job_actions.perform(job, "retry", caller),
            "waits again",
            is_possible=lambda job, caller: job.state == Job.State.FAILED,
        ),
        AdminAction(
            "discard",
            "Discard",
            Role.CURATOR,
            lambda job, caller, text: job_actions.perform(job, "discard", caller),
            "discarded",
            is_possible=lambda job, caller: job.state == Job.State.FAILED,
            is_final=True,
        ),
        AdminAction(
            "cancel",
            "Cancel",
            Role.CURATOR,
            lambda job, caller, text: job_actions.perform(job, "cancel", caller),
            "cancelled",
            is_possible=lambda job, caller: (
                job.state in {Job.State.WAITING, Job.State.RUNNING}
            ),
            is_final=True,
        ),
    ]

    class Media:
        js = ["admin/jobs.js"]

    error_display = staticmethod(panels.column("error", panels.text_block))
    args_display = staticmethod(panels.column("args", panels.json_block))
    result_display = staticmethod(panels.column("result", panels.json_block))
    cursor_display = staticmethod(panels.column("cursor", panels.json_block))
    created_display = staticmethod(
        panels.column("created_at", format_time, title="created", ordering="id")
    )
    finished_display = staticmethod(
        panels.column(
            "finished_at", format_time, title="finished", ordering="finished_at"
        )
    )

    @label_column("state", COLOURS, "state")
    def state_display(self, job: Job) -> str:
        return job.state

    @admin.display(description="progress")
    def progress_display(self, job: Job) -> SafeString:
        """Render the progress; `jobs.js` updates it while the job is unfinished."""
        text = f"{job.done:,} of {job.total:,}" if job.total else f"{job.done:,}"
        return format_html(
            '<span class="am-progress" data-job="{}" data-state="{}">{} {}</span>',
            job.pk,
            job.state,
            _progress_bar(job),
            text,
        )

    def get_ordering(self, request: HttpRequest) -> list[Any]:
        """Show the jobs first that may need a person's attention."""
        return [URGENCY.asc(), "-id"]
