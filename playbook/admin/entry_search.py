"""The admin's search of playbook entries, over one project or all visible ones."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from common.caller import Caller
from memories.admin.list_search import chosen_projects
from playbook.queries import EntryQuerySet
from playbook.reading import entry_list


def search_everywhere(
    query: str, rows: EntryQuerySet, asked: Mapping[str, Any], caller: Caller
) -> list[uuid.UUID]:
    """The ids among `rows`, best first; an entry whose label is typed comes before all."""
    named = rows.filter(label=query.strip()).values_list("pk", flat=True)
    scores: dict[uuid.UUID, float] = dict.fromkeys(named, 2.0)
    for project in chosen_projects(asked, caller):
        ranked = entry_list.rank(project, rows.filter(project=project), query)
        for hit in ranked.hits:
            scores.setdefault(hit.id, hit.score)
    return sorted(scores, key=lambda pk: (scores[pk], pk), reverse=True)
