from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from access import operations
from audit import admin as audit_admin
from common.admin import caller_of
from common.caller import Role
from common.deeds import Deed
from common.panels import Panel
from jobs.admin import JobAdmin
from jobs.models import Job


@admin.register(Job)
class OperatedJobAdmin(JobAdmin):
    deeds = [
        Deed(
            "retry",
            "Retry",
            Role.CURATOR,
            lambda job, caller, text: operations.act_on(job, "retry", caller),
            "waits again",
            fits=lambda job: job.state == Job.State.FAILED,
        ),
        Deed(
            "discard",
            "Discard",
            Role.CURATOR,
            lambda job, caller, text: operations.act_on(job, "discard", caller),
            "discarded",
            fits=lambda job: job.state == Job.State.FAILED,
            is_final=True,
        ),
        Deed(
            "cancel",
            "Cancel",
            Role.CURATOR,
            lambda job, caller, text: operations.act_on(job, "cancel", caller),
            "cancelled",
            fits=lambda job: job.state in {Job.State.WAITING, Job.State.RUNNING},
            is_final=True,
        ),
    ]

    def past(self, request: HttpRequest, row: Any) -> list[Panel]:
        return [audit_admin.of(row.pk, caller_of(request))]
