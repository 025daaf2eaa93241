"""The panels of recent work.

They list the proposals that have waited longest, the latest runs, and the failed jobs.
"""

from __future__ import annotations

from collections.abc import Iterable

from ace.models import AceRun
from common.admin.panels import Panel, format_time, row_link, short_text
from common.caller import Caller
from console import list_urls
from jobs.models import Job
from playbook.models import PlaybookDelta
from projects.models import Project

MAX_LISTED = 5
RUN, JOB = "ace_acerun", "jobs_job"


def build_panels(project: Project, caller: Caller) -> Iterable[Panel]:
    yield _waiting_panel(project, caller)
    yield _runs_panel(project, caller)
    failures = _failed_jobs_panel(project, caller)
    if failures.rows:
        yield failures


def _waiting_panel(project: Project, caller: Caller) -> Panel:
    rows = PlaybookDelta.objects.visible_to(caller).filter(project=project).pending()
    return Panel(
        "Waiting longest",
        ["Proposed", "Change", "Text", "Risk", "Producer"],
        [
            [
                format_time(delta.created_at),
                list_urls.link(
                    list_urls.inbox_page("inbox_card", delta),
                    delta.operation,
                ),
                short_text(delta.content or delta.reason),
                delta.risk,
                delta.producer,
            ]
            for delta in rows.order_by("pk")[:MAX_LISTED]
        ],
        empty="Nothing waits for a decision.",
        note=list_urls.link(list_urls.inbox_list(project), "All waiting changes"),
    )


def _runs_panel(project: Project, caller: Caller) -> Panel:
    rows = AceRun.objects.visible_to(caller).filter(project=project)
    return Panel(
        "Latest runs",
        ["Received", "Goal", "Agent", "State"],
        [
            [
                format_time(run["created_at"]),
                row_link(RUN, run["pk"], run["request__goal"] or "(no goal)"),
                short_text(run["agent_id"], 40),
                run["state"],
            ]
            for run in rows.values(
                "pk", "created_at", "agent_id", "state", "request__goal"
            )[:MAX_LISTED]
        ],
        empty="No task has been reported yet.",
        note=list_urls.link(list_urls.admin_list(RUN, project), "All runs"),
    )


def _failed_jobs_panel(project: Project, caller: Caller) -> Panel:
    rows = Job.objects.visible_to(caller).filter(
        project_id=project.pk, state=Job.State.FAILED
    )
    return Panel(
        "Failed jobs",
        ["Failed", "Kind", "Error"],
        [
            [
                format_time(job.finished_at),
                row_link(JOB, job.pk, job.kind),
                short_text(job.error, 200),
            ]
            for job in rows.defer("args", "result", "cursor")[:MAX_LISTED]
        ],
        note=list_urls.link(
            list_urls.admin_list(JOB, project, state="failed"), "All failed jobs"
        ),
    )
