"""Pages for the quotas of a project, and for compaction by the project's policy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from django import forms
from django.http import HttpRequest
from unfold.widgets import UnfoldBooleanWidget

from common.admin import panels
from common.admin.pages import AdminPage, ProjectPageForm
from common.admin.panels import ROW_LIMIT, Panel, format_time, row_link, short_text
from common.caller import Role
from jobs.models import Job
from memories.admin.status import MEMORY
from memories.retention import compaction_policy
from memories.retention.compaction_policy import Group
from memories.store import quotas
from memories.store.quotas import Quota
from projects import project_lookup


class QuotasForm(ProjectPageForm):
    def apply(self) -> list[Quota]:
        project = project_lookup.find_project(self.cleaned_data["project"], self.caller)
        return quotas.usage(project, self.caller)


def _usage_panels(
    request: HttpRequest, quotas_used: Sequence[Quota]
) -> Iterable[Panel]:
    rows = [
        [
            quota.name,
            short_text(quota.of, 60),
            f"{quota.used:,}",
            f"{quota.limit:,}",
            f"{quota.used / quota.limit:.0%}",
        ]
        for quota in quotas_used
    ]
    head = ["Quota", "Of", "Used", "Limit", "Share"]
    yield panels.table("Live memories", head, rows, empty="No quota is set.")


QUOTAS = AdminPage(
    "quotas",
    "Quotas",
    Role.VIEWER,
    QuotasForm,
    _usage_panels,
    "Show",
    description="How far the quotas in the settings of the project are used.",
)


class CompactionForm(ProjectPageForm):
    """Show the compaction plan, and compact when the user confirms."""

    confirmed = forms.BooleanField(
        label="Compact now",
        required=False,
        help_text="If unchecked, only the plan is shown.",
        widget=UnfoldBooleanWidget,
    )

    def apply(self) -> list[Group] | Job:
        project = project_lookup.find_project(self.cleaned_data["project"], self.caller)
        if self.cleaned_data["confirmed"]:
            return compaction_policy.start(project, self.caller)
        return list(islice(compaction_policy.plan(project, self.caller), ROW_LIMIT + 1))


def _plan_panels(request: HttpRequest, result: list[Group] | Job) -> Iterable[Panel]:
    if isinstance(result, Job):
        yield Panel("Started", ["Job"], [[row_link("jobs_job", result.pk)]])
        return
    yield panels.table(
        "Groups to compact into one memory each",
        ["Scope", "Kind", "Sensitivity", "Expires", "Memories", "The oldest"],
        [_group_row(group) for group in result],
        empty="The compaction settings of the project select no memories.",
    )


def _group_row(group: Group) -> list[object]:
    return [
        short_text(f"{group.scope.kind}: {group.scope.key}", 60),
        group.kind,
        group.sensitivity,
        format_time(group.expires_at),
        len(group.source_ids),
        row_link(MEMORY, group.source_ids[0]),
    ]


COMPACTION = AdminPage(
    "compaction",
    "Compaction by policy",
    Role.CURATOR,
    CompactionForm,
    _plan_panels,
    "Go on",
    description="Compacts old memories as the settings of the project say. To undo a "
    "compaction, open the page of its result.",
    uses_post=True,
)
