"""Count the facts or past tasks of a project, of which a search may score all."""

from __future__ import annotations

from django.db.models import Q

from memories.models import TIER_KINDS, Memory
from memories.queries import CURRENT_COLUMNS, PAST_TASK, Filters
from projects.models import Project

# Both lanes together score 2,500 rows in a fifth of the time that they take to try the best
# rows of 100,000 first (docs/ranking.md, "Semantic lane").
MAX_ROWS = 5_000


def is_narrow(project: Project, filters: Filters) -> bool:
    """Whether the filters keep facts, episodes or past tasks only, and there are few of them."""
    kinds = set(filters.kinds)
    is_of_tier = bool(kinds) and kinds <= set(TIER_KINDS)
    if filters.include_duplicates or not (is_of_tier or filters.past_tasks):
        return False
    kept = PAST_TASK if filters.past_tasks else Q(kind__in=kinds)
    rows = Memory.objects.filter(kept, project=project, **CURRENT_COLUMNS)
    return rows.order_by()[: MAX_ROWS + 1].count() <= MAX_ROWS
