"""Store, read, change and delete memories."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from django.db.models import prefetch_related_objects
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from common import errors
from common.api.views import EVERY_FIELD
from common.caller import Role
from memories import scopes
from memories.lifecycle import delete, lookup, update
from memories.read import retrieve
from memories.serializers import drafts as draft_forms
from memories.serializers import memories as memory_forms
from memories.serializers import search as search_forms
from memories.serializers.missing_vectors import WaitQuery
from memories.store import write
from memories.store.drafts import Draft
from memories.store.receipt import Receipt
from memories.views.answers import detail_response, receipt_answer
from memories.views.batches import build_batch, wait_for_batch
from projects.models import Project


class MemoriesView(ProjectView):
    self_guarded: ClassVar[frozenset[str]] = EVERY_FIELD

    @extend_schema(
        operation_id="memories_create",
        request=draft_forms.CreateMemory,
        responses={201: memory_forms.ReceiptOut, 200: memory_forms.ReceiptOut},
    )
    def post(self, request: Request) -> Response:
        """Store one memory. The receipt tells the result."""
        data = self.body(draft_forms.CreateMemory)
        project = self.project(data)
        if answer := self.replay(project.pk):
            return answer
        draft = draft_forms.draft_of(data, project, self.caller)
        prepared = write.prepare(project, [draft], self.caller)
        return self.run_once(
            project.pk, lambda: receipt_answer(write.commit(prepared)[0])
        )

    @extend_schema(
        operation_id="memories_list",
        parameters=[draft_forms.RetrieveQuery],
        responses=memory_forms.MemoriesPage,
    )
    def get(self, request: Request) -> Response:
        """Read a scope without a query, newest or oldest first, or memories by their ids."""
        data = self.query(draft_forms.RetrieveQuery)
        project = self.project(data)
        shown = {"fields": data.get("fields")}
        if "ids" in data:
            return self.read_by_ids(data["ids"], project, shown)
        rows = retrieve.read_scope(
            project, retrieval_of(data, project, self), self.caller
        )
        return self.page(
            rows,
            memory_forms.MemoryOut,
            context=shown,
            oldest_first=data["order"] == "oldest",
            limit=retrieve.page_size(data.get("limit")),
        )

    def read_by_ids(
        self, ids: list[uuid.UUID], project: Project, shown: dict[str, Any]
    ) -> Response:
        rows = retrieve.find_memories(ids, project, self.caller)
        found = {memory.pk for memory in rows}
        missing = [pk for pk in dict.fromkeys(ids) if pk not in found]
        results = memory_forms.MemoryOut(rows, many=True, context=shown).data
        page = {"results": results, "next": None, "previous": None}
        return Response({**page, "missing_ids": missing})


class MemoryBatchView(ProjectView):
    self_guarded: ClassVar[frozenset[str]] = EVERY_FIELD
    query_methods: ClassVar[frozenset[str]] = frozenset({"POST"})
    body_items = "memories"

    @extend_schema(
        operation_id="memories_batch",
        parameters=[WaitQuery],
        request=draft_forms.CreateMemories,
        responses=memory_forms.BatchOut,
    )
    def post(self, request: Request) -> Response:
        """Store up to 500 memories; each item has its own receipt and status."""
        seconds = self.query(WaitQuery)["wait"]
        data = self.body(draft_forms.CreateMemories)
        project = self.project(data)
        answer = self.replay(project.pk) or self.store(data, project)
        if seconds and answer.status_code == 200:
            wait_for_batch(answer.data, project, seconds)
        return answer

    def store(self, data: dict[str, Any], project: Project) -> Response:
        accepted, refusals = self.parse(data["memories"], project)
        prepared = write.prepare(project, list(accepted.values()), self.caller)

        def act() -> tuple[int, dict[str, Any]]:
            receipts = write.commit(prepared)
            by_position = dict(zip(accepted, receipts, strict=True)) | refusals
            stored = [each.memory for each in by_position.values() if each.memory]
            prefetch_related_objects(stored, "file_links__file")
            in_order = [by_position[position] for position in sorted(by_position)]
            return 200, build_batch(in_order, project, self.caller)

        return self.run_once(project.pk, act)

    def parse(
        self, items: list[dict[str, Any]], project: Project
    ) -> tuple[dict[int, Draft], dict[int, Receipt]]:
        """Validate the items. Return drafts and refusals, both by position in the batch."""
        accepted: dict[int, Draft] = {}
        refusals: dict[int, Receipt] = {}
        for position, item in enumerate(items):
            try:
                form = self.body_item(draft_forms.MemoryInBatch, item, position)
                refuse_elsewhere(form, project)
                accepted[position] = draft_forms.draft_of(form, project, self.caller)
            except errors.Refusal as refusal:
                refusals[position] = Receipt(status="rejected", refusal=refusal)
        return accepted, refusals


def refuse_elsewhere(item: dict[str, Any], project: Project) -> None:
    """Refuse an item that names a different project than its batch."""
    named = {item[name] for name in ("project_id", "project") if name in item}
    if not named <= {project.name, str(project.pk)}:
        raise errors.Invalid(
            errors={
                "project_id": [
                    "Every item of a batch belongs to the project of the batch."
                ]
            }
        )


def retrieval_of(
    data: dict[str, Any], project: Project, view: ProjectView
) -> retrieve.Retrieval:
    named = data.get("scope")
    scope = scopes.resolve(named, project, view.caller) if named else None
    session_id = data.get("session_id", "") if data["include_narrower"] else ""
    filters = search_forms.filters_of(
        data | {"agent_ids": [data["agent_id"]] if "agent_id" in data else []}
    )
    return retrieve.Retrieval(
        scope=scope,
        sessions=scopes.narrower_scopes(scope, session_id),
        filters=filters,
        since=data.get("since"),
        order=data["order"],
    )


class MemoryView(ProjectView):
    self_guarded: ClassVar[frozenset[str]] = EVERY_FIELD
    query_methods: ClassVar[frozenset[str]] = frozenset()

    @extend_schema(operation_id="memories_read", responses=memory_forms.MemoryDetail)
    def get(self, request: Request, memory_id: uuid.UUID) -> Response:
        """Read one memory with all its fields, its files and its lineage."""
        return detail_response(lookup.get_memory(memory_id, self.caller), self)

    @extend_schema(
        operation_id="memories_update",
        request=draft_forms.UpdateMemory,
        responses=memory_forms.MemoryDetail,
    )
    def patch(self, request: Request, memory_id: uuid.UUID) -> Response:
        """Change fields. Tags are replaced, metadata are merged, a null date is cleared."""
        memory = lookup.get_memory(memory_id, self.caller, Role.WRITER)
        update.refuse_immutable(draft_forms.FIXED_FIELDS & set(request.data))
        changes = self.body(draft_forms.UpdateMemory)
        version = changes.pop("version", None)
        # The memory is not read again: if its new expiry is in the past, reads do not find
        # it.
        return detail_response(
            update.update_memory(memory, changes, self.caller, version), self
        )

    @extend_schema(operation_id="memories_delete", responses={204: None})
    def delete(self, request: Request, memory_id: uuid.UUID) -> Response:
        """Delete a memory. The answer is 204 for every id, so that it reveals nothing."""
        delete.delete_memory(memory_id, self.caller)
        return Response(status=204)
