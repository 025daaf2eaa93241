"""Admit the drafts of a write, as long as the quotas of the project have room."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from django.db.models import Q

from memories.models import Memory
from memories.store import quotas
from memories.store.drafts import Draft
from memories.store.quotas import Quota, QuotaExceeded
from projects.models import Project
from projects.options import QuotaSettings


def over_quota(
    project: Project, drafts: Mapping[int, Draft]
) -> dict[int, QuotaExceeded]:
    """Return {position: refusal} for the drafts that would exceed a quota.

    Call this function in the transaction of the write. The function locks the row of the
    project, so that two writers of a project cannot exceed a quota together.
    """
    if not lock_quotas(project):
        return {}
    tracker = QuotaTracker(project, len(drafts))
    refusals = {position: tracker.admit(draft) for position, draft in drafts.items()}
    return {position: refusal for position, refusal in refusals.items() if refusal}


def lock_quotas(project: Project) -> bool:
    """Lock the project's row if it has quotas; return whether it has.

    A transaction that locks a session or a run, and then writes memories, calls this first.
    """
    if project.options.quotas == QuotaSettings():
        return False
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    return True


class QuotaTracker:
    """The use of each quota, counted while the drafts of a batch are admitted.

    `size` is the number of drafts in the batch.
    """

    def __init__(self, project: Project, size: int) -> None:
        self.project = project
        self.size = size
        self.quotas: dict[tuple[str, str], Quota] = {}

    def admit(self, draft: Draft) -> QuotaExceeded | None:
        """Count a draft in its quotas.

        If a quota is full, return the refusal of the first full quota instead.
        """
        own = [self.usage_of(quota) for quota in _quotas_of(self.project, draft)]
        is_tight = any(quota.used + self.size > quota.limit for quota in own)
        if is_tight and _adds_nothing(self.project, draft):
            return None
        if full := next((quota for quota in own if quota.is_full), None):
            return full.refusal
        for quota in own:
            self.quotas[quota.key] = replace(quota, used=quota.used + 1)
        return None

    def usage_of(self, quota: Quota) -> Quota:
        if quota.key not in self.quotas:
            self.quotas[quota.key] = quotas.count_used(self.project, quota)
        return self.quotas[quota.key]


def _quotas_of(project: Project, draft: Draft) -> Iterator[Quota]:
    """Return the quotas that a draft counts in.

    Their use is not computed.
    """
    assert draft.scope
    limits = project.options.quotas
    if limits.memories is not None:
        yield Quota("memories", "", limits.memories)
    owner = draft.user_id or draft.scope.owner
    if limits.per_user is not None and owner:
        yield Quota("per_user", owner, limits.per_user)
    of_kind: int | None = getattr(limits.per_kind, draft.kind)
    if of_kind is not None:
        yield Quota("per_kind", draft.kind, of_kind)


def _adds_nothing(project: Project, draft: Draft) -> bool:
    """Whether storing a draft adds no live row.

    This is so if the draft repeats a text or supersedes a fact.
    """
    assert draft.scope
    same = Q(pk=None)
    if draft.kind == Memory.Kind.FACT and draft.key:
        same |= Q(kind=draft.kind, key=draft.key)
    if not draft.is_derived:
        same |= Q(
            key=draft.key,
            sensitivity=draft.sensitivity,
            similarity_hash=draft.similarity_hash,
            kept_apart=False,
        )
    rows = quotas.live_rows(project).filter(same, scope_hash=draft.scope.hash)
    return bool(rows.exists())
