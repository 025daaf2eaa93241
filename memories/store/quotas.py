"""Quotas limit the live memories of a project, a user and a kind (docs/compaction.md).

A memory is live until one of its columns says otherwise. An expired memory counts until it
is archived.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from datetime import timedelta

from django.db.models import Count
from django.utils import timezone

from audit import trail
from common import errors
from common.caller import SYSTEM, Caller, Role
from common.db import write
from jobs import queue
from jobs.models import Job
from memories.models import Memory
from memories.queries import CURRENT_COLUMNS, OWNER, MemoryQuerySet
from projects.models import Project

KIND = "consolidate"
MAX_LISTED = 20  # users listed in the usage, the users with most memories
# The pause after a consolidation that could not bring the use below the quotas.
COOLDOWN = timedelta(minutes=5)


class QuotaExceeded(errors.StateConflict):
    """A quota of live memories is used to 110 %; delete memories, or have the quota raised."""

    code = "quota_exceeded"


@dataclass(frozen=True)
class Quota:
    """A limit and its use.

    `name` is the name of the setting. `of` is the user or the kind that the quota counts.
    """

    name: str
    of: str
    limit: int
    used: int = 0

    @property
    def key(self) -> tuple[str, str]:
        return self.name, self.of

    @property
    def most(self) -> int:
        """Return the hard limit, which is 110 % of the limit.

        A write that would exceed the hard limit is refused.
        """
        return self.limit * 11 // 10

    @property
    def is_reached(self) -> bool:
        """Whether the quota is reached, so that a consolidation is due."""
        return self.used >= self.limit

    @property
    def is_full(self) -> bool:
        return self.used >= self.most

    @property
    def refusal(self) -> QuotaExceeded:
        of = f" of {self.of}" if self.of else ""
        return QuotaExceeded(
            f"The quota {self.name}{of} is {self.limit:,} live memories, at most "
            f"{self.most:,}, and {self.used:,} are there. Wait for the consolidation "
            "that was started, delete or compact memories, or have an owner of the "
            "project raise the quota; then send this again.",
            quota=self.name,
            of=self.of,
            limit=self.limit,
            used=self.used,
        )


def live_rows(project: Project, quota: Quota | None = None) -> MemoryQuerySet:
    """Return the live rows of a project, or only the rows that one quota counts."""
    rows: MemoryQuerySet = Memory.objects.filter(project=project, **CURRENT_COLUMNS)
    if quota is None or quota.name == "memories":
        return rows
    if quota.name == "per_kind":
        return rows.filter(kind=quota.of)
    of_user: MemoryQuerySet = rows.alias(owner=OWNER).filter(owner=quota.of)
    return of_user


def count_used(project: Project, quota: Quota) -> Quota:
    """Return the quota with its present use filled in."""
    return replace(quota, used=live_rows(project, quota).count())


def usage(project: Project, caller: Caller) -> list[Quota]:
    """Return each quota of a project with its use.

    A bound user sees only the quota of that user.
    """
    caller.require(Role.VIEWER, project.pk)
    return [
        *_project_quotas(project),
        *_user_quotas(project, least=0, user=caller.user_id)[:MAX_LISTED],
    ]


def at_limit(project: Project) -> list[Quota]:
    """Return the quotas that are used to 100 % or more."""
    fixed = [quota for quota in _project_quotas(project) if quota.is_reached]
    return fixed + _user_quotas(project, least=project.options.quotas.per_user or 0)


def _project_quotas(project: Project) -> list[Quota]:
    """Return the quotas of the project and of kinds, with their use."""
    settings = project.options.quotas
    limits = [("memories", "", settings.memories)]
    limits += [("per_kind", kind, limit) for kind, limit in settings.per_kind]
    return [
        count_used(project, Quota(name, of, limit))
        for name, of, limit in limits
        if limit is not None
    ]


def _user_quotas(project: Project, *, least: int, user: str = "") -> list[Quota]:
    limit = project.options.quotas.per_user
    if limit is None:
        return []
    rows = live_rows(project).annotate(owner=OWNER).exclude(owner="").order_by()
    if user:
        rows = rows.filter(owner=user)
    counts = rows.values("owner").annotate(n=Count("pk")).filter(n__gte=least)
    found = counts.order_by("-n", "owner").values_list("owner", "n")
    return [Quota("per_user", owner, limit, n) for owner, n in found]


@write
def consolidate_later(project: Project) -> None:
    """Start a consolidation.

    No consolidation is started if one already waits, or if the last one could not help.
    """
    if _is_in_vain(project.pk):
        return
    args = {"threshold": project.options.dedup.threshold, "apply": True}
    key = str(project.pk)
    job = queue.enqueue(KIND, project_id=project.pk, args=args, key=key)
    if job:
        trail.record(
            SYSTEM,
            "consolidation.start",
            project_id=project.pk,
            object_type="job",
            object_id=job.pk,
        )


def _is_in_vain(project_id: uuid.UUID) -> bool:
    recent = Job.objects.filter(
        kind=KIND, project_id=project_id, finished_at__gt=timezone.now() - COOLDOWN
    )
    return recent.filter(result__is_under=False).exists()


def consolidate_due() -> None:
    """Start the consolidations that no write started.

    An example is a project whose quota was lowered.
    """
    for project in Project.objects.live().filter(settings__has_key="quotas"):
        if at_limit(project):
            consolidate_later(project)
