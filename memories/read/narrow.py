"""Count the facts and episodes of a project, of which a search may score all."""

from __future__ import annotations

from memories.models import TIER_KINDS, Memory
from memories.queries import CURRENT_COLUMNS, Filters
from projects.models import Project

# Both lanes together score 2,500 rows in a fifth of the time that they take to try the best
# rows of 100,000 first (docs/ranking.md, "Semantic lane").
MAX_ROWS = 5_000


def is_narrow(project: Project, filters: Filters) -> bool:
    """Whether the filters keep facts or episodes only, and the project has few of them."""
    kinds = set(filters.kinds)
    if not kinds or not kinds <= set(TIER_KINDS) or filters.include_duplicates:
        return False
    rows = Memory.objects.filter(project=project, kind__in=kinds, **CURRENT_COLUMNS)
    return rows.order_by()[: MAX_ROWS + 1].count() <= MAX_ROWS
