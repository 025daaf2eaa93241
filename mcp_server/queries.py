from __future__ import annotations

from typing import Any, Self

from access.models import ApiKey
from common.caller import Caller
from playbook.queries import ProjectScopedQuerySet


class HookCountQuerySet(ProjectScopedQuerySet[Any]):
    def visible_to(self, caller: Caller) -> Self:
        """Return the rows of the caller's projects; a bound key sees its own line only."""
        rows = super().visible_to(caller)
        if not caller.is_bound:
            return rows
        return rows.filter(key_id__in=ApiKey.objects.of_same_line(caller.key_id))
