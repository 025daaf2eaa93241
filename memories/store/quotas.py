"""Quotas limit the live memories of a project, a user and a kind (docs/compaction.md).

A memory is live until one of its columns says otherwise. An expired memory counts until it
is archived.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.db.models import Count

from common import errors
from common.caller import Caller, Role
from memories.models import Memory
from memories.queries import CURRENT_COLUMNS, OWNER, MemoryQuerySet
from projects.models import Project

MAX_LISTED = 20  # users listed in the usage, the users with most memories


class QuotaExceeded(errors.StateConflict):
    """A quota of live memories is full; delete memories, or have the quota raised."""

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
    def is_full(self) -> bool:
        return self.used >= self.limit

    @property
    def refusal(self) -> QuotaExceeded:
        of = f" of {self.of}" if self.of else ""
        return QuotaExceeded(
            f"The quota {self.name}{of} is {self.limit:,} live memories, and "
            f"{self.used:,} are there. Delete or compact memories, or have an owner of the "
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
        *_user_quotas(project, caller.user_id)[:MAX_LISTED],
    ]


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


def _user_quotas(project: Project, user: str) -> list[Quota]:
    limit = project.options.quotas.per_user
    if limit is None:
        return []
    rows = live_rows(project).annotate(owner=OWNER).exclude(owner="").order_by()
    if user:
        rows = rows.filter(owner=user)
    counts = rows.values("owner").annotate(n=Count("pk"))
    found = counts.order_by("-n", "owner").values_list("owner", "n")
    return [Quota("per_user", owner, limit, n) for owner, n in found]
