"""Delete the playbook of a deleted project."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet

from jobs.runner import JobRun
from playbook.entries.entry_index import CORPUS
from playbook.models import (
    Exposure,
    LessonCandidate,
    Playbook,
    PlaybookChange,
    PlaybookDelta,
    PlaybookEntry,
)
from projects import deletion
from search.models import Corpus


@deletion.register
def delete_playbook(project_id: uuid.UUID, run: JobRun) -> None:
    """Delete every row of a project's playbook, including its history."""
    for rows in _rows(project_id):
        deletion.delete_rows(rows, run)
    Corpus.objects.filter(project_id=project_id, name=CORPUS).delete()


def _rows(project_id: uuid.UUID) -> Iterable[QuerySet[Any]]:
    """Yield the rows to delete.

    The order ensures that no remaining row refers to a deleted row.
    """
    entries = PlaybookEntry.objects.filter(project_id=project_id)
    yield Exposure.objects.filter(project_id=project_id)
    yield LessonCandidate.objects.filter(project_id=project_id)
    yield PlaybookDelta.objects.filter(project_id=project_id)
    yield PlaybookChange.objects.filter(project_id=project_id)
    # Superseded entries refer to other entries, so these references are removed first.
    entries.exclude(superseded_by=None).update(superseded_by=None)
    yield entries
    yield Playbook.objects.filter(project_id=project_id)
