"""Responses of views that write."""

from __future__ import annotations

import uuid
from typing import Any

from rest_framework.response import Response

from access.project_view import ProjectView
from common import errors
from playbook.lessons import intake
from playbook.lessons.draft import Draft
from playbook.models import PlaybookDelta, PlaybookEntry
from playbook.reading import entry_list
from playbook.serializers import deltas as delta_forms
from playbook.serializers import entries as entry_forms
from projects.models import Project


def submit_edit(
    view: ProjectView, project: Project, change: PlaybookDelta, *, status: int
) -> Response:
    """Submit a person's change.

    The status is 202 if the change waits for another person.
    """
    prepared = intake.prepare(project, [Draft(change)], view.caller)

    def act() -> tuple[int, dict[str, Any]]:
        delta = intake.file(prepared)[0]
        waits = delta.status == PlaybookDelta.DeltaStatus.PENDING
        return 202 if waits else status, describe_result(view, delta)

    return view.run_once(project.pk, act)


def describe_result(view: ProjectView, delta: PlaybookDelta) -> dict[str, Any]:
    """Return the delta, and also the delta's entry if the delta is in force."""
    entry = None
    if delta.entry_id and delta.status in PlaybookDelta.IN_FORCE:
        entry = entry_forms.EntryDetail(entry_in_full(view, delta.entry_id)).data
    return {"delta": delta_forms.describe_delta(delta, view.caller), "entry": entry}


def entry_in_full(view: ProjectView, entry_id: uuid.UUID) -> PlaybookEntry:
    rows = PlaybookEntry.objects.visible_to(view.caller).filter(pk=entry_id)
    found = entry_list.with_details(rows, view.caller).first()
    if found is None:
        raise errors.NotFound(f"There is no entry {entry_id}.")
    return found
