"""Search playbook entries in the admin, in one project or in all visible projects."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from common.caller import Caller
from memories.admin.list_search import chosen_projects
from playbook.queries import EntryQuerySet
from playbook.reading import entry_list


def search_everywhere(
    query: str, rows: EntryQuerySet, query_params: Mapping[str, Any], caller: Caller
) -> list[uuid.UUID]:
    """Return the ids of matching rows, best match first.

    A row whose label equals the query comes before all other rows.
    """
    with_label = rows.filter(label=query.strip()).values_list("pk", flat=True)
    scores: dict[uuid.UUID, float] = dict.fromkeys(with_label, 2.0)
    for project in chosen_projects(query_params, caller):
        ranking = entry_list.rank(project, rows.filter(project=project), query)
        for hit in ranking.hits:
            scores.setdefault(hit.id, hit.score)
    return sorted(scores, key=lambda pk: (scores[pk], pk), reverse=True)
