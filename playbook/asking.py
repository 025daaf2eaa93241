"""The admin's search of playbook entries, over one project or all visible ones."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from common.caller import Caller
from memories.asking import projects_asked
from playbook import indexing
from playbook.models import PlaybookEntry
from projects.models import Project
from search import ranking


def search_everywhere(
    query: str, asked: Mapping[str, Any], caller: Caller
) -> list[uuid.UUID]:
    """The ids of entries, best first; an entry whose label is typed comes before all.

    Entries of every status are searched: a person looks for retired ones, too.
    """
    rows = PlaybookEntry.objects.visible_to(caller)
    scores: dict[uuid.UUID, float] = {}
    for project in projects_asked(asked, caller):
        named = rows.filter(project=project, label=query.strip()).values_list(
            "pk", flat=True
        )
        scores |= dict.fromkeys(named, 2.0)
        for hit in ranking.rank(
            rows.filter(project=project), _question(query, project)
        ).hits:
            scores.setdefault(hit.id, hit.score)
    return sorted(scores, key=lambda pk: (scores[pk], pk), reverse=True)


def _question(query: str, project: Project) -> ranking.Question:
    options = project.options.search
    return ranking.Question(
        query=query,
        project_id=project.pk,
        corpus=indexing.CORPUS,
        arms=(indexing.arm(project.pk),),
        fusion=options.fusion,
        keyword_weight=options.keyword_weight,
        semantic_weight=options.semantic_weight,
    )
