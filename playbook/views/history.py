"""What happened to the playbook."""

from __future__ import annotations

import uuid

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.doors import Door, page_of
from playbook import curation, reading
from playbook.reading import ChangeFilters
from playbook.serializers import changes as change_forms


class ChangesDoor(Door):
    @extend_schema(
        operation_id="playbook_changes",
        parameters=[change_forms.ChangesQuery],
        responses=page_of(change_forms.ChangeOut),
    )
    def get(self, request: Request) -> Response:
        """What happened to the playbook, newest first."""
        data = self.query(change_forms.ChangesQuery)
        project = self.project(data)
        names = ChangeFilters.__dataclass_fields__
        filters = ChangeFilters(**{n: data[n] for n in names if n in data})
        rows = reading.changes(project, filters, self.caller)
        return self.page(rows, change_forms.ChangeOut)


class EntryHistoryDoor(Door):
    @extend_schema(
        operation_id="playbook_entries_history",
        responses=page_of(change_forms.ChangeOut),
    )
    def get(self, request: Request, entry_id: uuid.UUID) -> Response:
        """What happened to an entry, newest first, with the changed text as a diff."""
        entry = curation.entry(entry_id, self.caller)
        return self.page(reading.history(entry, self.caller), change_forms.ChangeOut)
