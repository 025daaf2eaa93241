from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from access import job_actions
from audit import admin as audit_admin
from common.admin.actions import AdminAction
from common.admin.model_admin import caller_of
from common.admin.panels import Panel
from common.caller import Role
from jobs.admin import JobAdmin
from jobs.models import Job


@admin.register(Job)
class JobWithActionsAdmin(JobAdmin):
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

    def history_panels(self, request: HttpRequest, row: Any) -> list[Panel]:
        return [audit_admin.history_panel(row.pk, caller_of(request))]
