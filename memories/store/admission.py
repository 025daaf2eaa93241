"""Whether the quotas of a project have room for what is about to be written."""

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
    """The drafts, in their order, that would pass 110 % of a quota.

    In the transaction of the write: it holds the project's row, so that writers of one
    project count one after the other and never pass it together.
    """
    if project.options.quotas == QuotaSettings():
        return {}
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    room = QuotaTracker(project, len(drafts))
    found = {position: room.take(draft) for position, draft in drafts.items()}
    if any(quota.is_reached for quota in room.quotas.values()):
        quotas.consolidate_later(project)
    return {position: refusal for position, refusal in found.items() if refusal}


class QuotaTracker:
    """The quotas that a batch of `size` counts in, as they are used draft by draft."""

    def __init__(self, project: Project, size: int) -> None:
        self.project = project
        self.size = size
        self.quotas: dict[tuple[str, str], Quota] = {}

    def take(self, draft: Draft) -> QuotaExceeded | None:
        """Count a draft, or say why there is no room for it."""
        own = [self.counted(quota) for quota in _quotas_of(self.project, draft)]
        is_tight = any(quota.used + self.size > quota.most for quota in own)
        if is_tight and _adds_nothing(self.project, draft):
            return None
        if full := next((quota for quota in own if quota.is_full), None):
            return full.refusal
        for quota in own:
            self.quotas[quota.place] = replace(quota, used=quota.used + 1)
        return None

    def counted(self, quota: Quota) -> Quota:
        if quota.place not in self.quotas:
            self.quotas[quota.place] = quotas.count_used(self.project, quota)
        return self.quotas[quota.place]


def _quotas_of(project: Project, draft: Draft) -> Iterator[Quota]:
    """The quotas that a draft would count in, not counted yet."""
    assert draft.scope
    wanted = project.options.quotas
    if wanted.memories is not None:
        yield Quota("memories", "", wanted.memories)
    owner = draft.user_id or draft.scope.owner
    if wanted.per_user is not None and owner:
        yield Quota("per_user", owner, wanted.per_user)
    of_kind: int | None = getattr(wanted.per_kind, draft.kind)
    if of_kind is not None:
        yield Quota("per_kind", draft.kind, of_kind)


def _adds_nothing(project: Project, draft: Draft) -> bool:
    """Whether it repeats a text, or takes the place of an older fact."""
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
