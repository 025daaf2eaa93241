"""Views of the playbook and its entries."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from common.caller import Role
from playbook.lessons import person_edits
from playbook.reading import change_list, entry_list, past_revisions
from playbook.reading.entry_list import EntryFilters, EntryOrder
from playbook.review import verification
from playbook.serializers import deltas as delta_forms
from playbook.serializers import entries as entry_forms
from playbook.views import ordered_pages, responses
from projects.models import Project


class PlaybookView(ProjectView):
    @extend_schema(
        operation_id="playbook_read",
        parameters=[entry_forms.PlaybookQuery],
        responses=entry_forms.PlaybookPage,
    )
    def get(self, request: Request) -> Response:
        """List entries as they are now, or as they were at a revision.

        The list can be filtered, searched and sorted.
        """
        data = self.query(entry_forms.PlaybookQuery)
        project = self.project(data)
        filters = EntryFilters(
            category=tuple(data.get("category", ())),
            tags=tuple(data.get("tags", ())),
            tags_match=data["tags_match"],
            status=tuple(data["status"]),
            freshness=data.get("freshness"),
        )
        order = EntryOrder(data.get("sort", "created_at"), data["order"] == "desc")
        if "revision" in data:
            return self.past(project, data["revision"], filters, order)
        rows = entry_list.find(project, filters, self.caller)
        notes: tuple[str, ...] = ()
        if "q" in data:
            ranking = entry_list.rank(project, rows, data["q"])
            ids, notes = [hit.id for hit in ranking.hits], ranking.notes
        else:
            ids = entry_list.order_ids(rows, order)
        page = ordered_pages.paginate(ids, rows, self.request)
        entries = entry_list.with_details(
            rows.filter(pk__in=page.ids), self.caller
        ).in_bulk()
        results = [entries[pk] for pk in page.ids if pk in entries]
        answer = entry_forms.EntryOut(results, many=True).data
        revision = past_revisions.current_revision(project, self.caller)
        return self.answer(answer, page, revision, notes)

    def past(
        self, project: Project, revision: int, filters: EntryFilters, order: EntryOrder
    ) -> Response:
        past = past_revisions.at_revision(
            project, revision, filters, order, self.caller
        )
        by_id = {entry.id: entry for entry in past}
        rows = entry_list.find(project, filters, self.caller)
        page = ordered_pages.paginate(list(by_id), rows, self.request)
        entries = [by_id[pk] for pk in page.ids]
        memory_ids = [
            uuid.UUID(pk) for entry in entries for pk in entry.supporting_memory_ids
        ]
        visible = {
            str(pk) for pk in change_list.visible_memory_ids(memory_ids, self.caller)
        }
        results = [
            entry_forms.past_entry_output(entry, project.pk, visible)
            for entry in entries
        ]
        return self.answer(results, page, revision, ())

    @staticmethod
    def answer(
        results: Any,
        page: ordered_pages.OrderedPage,
        revision: int,
        notes: tuple[str, ...],
    ) -> Response:
        return Response(
            {
                "results": results,
                "next": page.next,
                "previous": page.previous,
                "revision": revision,
                "notes": list(notes),
            }
        )


class EntriesView(ProjectView):
    self_guarded: ClassVar[frozenset[str]] = frozenset(
        ["content", "condition", "action", "tags", "reason"]
    )

    @extend_schema(
        operation_id="rules_create",
        request=entry_forms.CreateEntry,
        responses={201: delta_forms.WriteOut, 202: delta_forms.WriteOut},
    )
    def post(self, request: Request) -> Response:
        """Add an entry.

        A curator's entry is applied (201). A writer's entry waits for a curator (202).
        """
        data = self.body(entry_forms.CreateEntry)
        project = self.project(data)
        if response := self.replay(project.pk):
            return response
        changes = entry_forms.settings_of(data)
        person_edits.refuse_unknown_category(project, changes)
        change = person_edits.addition(changes, self.caller, reason=data["reason"])
        return responses.submit_edit(self, project, change, status=201)


class EntryView(ProjectView):
    self_guarded: ClassVar[frozenset[str]] = frozenset(
        ["content", "condition", "action", "tags", "reason"]
    )
    idempotent_methods: ClassVar[frozenset[str]] = frozenset({"PATCH", "DELETE"})
    query_methods: ClassVar[frozenset[str]] = frozenset({"DELETE"})

    @extend_schema(operation_id="rules_read", responses=entry_forms.EntryDetail)
    def get(self, request: Request, entry_id: uuid.UUID) -> Response:
        """Return one entry with all details, whatever its status."""
        return Response(
            entry_forms.EntryDetail(responses.entry_in_full(self, entry_id)).data
        )

    @extend_schema(
        operation_id="rules_update",
        request=entry_forms.UpdateEntry,
        responses={200: delta_forms.WriteOut, 202: delta_forms.WriteOut},
    )
    def patch(self, request: Request, entry_id: uuid.UUID) -> Response:
        """Change an entry.

        A curator's change is applied (200). A writer's change waits for a curator
        (202).
        """
        entry = entry_list.get(entry_id, self.caller, Role.WRITER)
        data = self.body(entry_forms.UpdateEntry, row=entry_forms.EntryDetail)
        if response := self.replay(entry.project_id):
            return response
        changes = entry_forms.settings_of(data)
        person_edits.refuse_unknown_category(entry.project, changes)
        change = person_edits.change(
            entry,
            changes,
            self.caller,
            reason=data["reason"],
            version=data.get("expected_version"),
        )
        return responses.submit_edit(self, entry.project, change, status=200)

    @extend_schema(
        operation_id="rules_delete",
        parameters=[entry_forms.DeleteEntryQuery],
        responses={200: delta_forms.WriteOut, 202: delta_forms.WriteOut},
    )
    def delete(self, request: Request, entry_id: uuid.UUID) -> Response:
        """Delete an entry.

        A curator's deletion is applied (200). A writer's deletion waits for a curator
        (202).
        """
        entry = entry_list.get(entry_id, self.caller, Role.WRITER)
        data = self.query(entry_forms.DeleteEntryQuery)
        if response := self.replay(entry.project_id):
            return response
        change = person_edits.removal(
            entry,
            self.caller,
            reason=data["reason"],
            version=data.get("expected_version"),
        )
        return responses.submit_edit(self, entry.project, change, status=200)


class VerifyEntryView(ProjectView):
    @extend_schema(
        operation_id="rules_verify",
        request=entry_forms.VerifyEntry,
        responses=entry_forms.EntryDetail,
    )
    def post(self, request: Request, entry_id: uuid.UUID) -> Response:
        """Confirm that an entry still holds.

        The entry is then no longer due or suspect.
        """
        entry = entry_list.get(entry_id, self.caller, Role.CURATOR)
        self.audited_project = entry.project_id
        data = self.body(entry_forms.VerifyEntry)

        def act() -> tuple[int, dict[str, Any]]:
            verification.verify(
                entry,
                self.caller,
                note=data["note"],
                review_after=data.get("review_after"),
                version=data.get("expected_version"),
            )
            verified = responses.entry_in_full(self, entry_id)
            return 200, entry_forms.EntryDetail(verified).data

        return self.run_once(entry.project_id, act)
