"""Memories: stored, read, changed and left."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Callable
from typing import Any

from django.db.models import prefetch_related_objects
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from common import errors
from common.api import problem
from common.api.serializers import page_of, represent, validate
from common.caller import Role
from memories import (
    classification,
    lifecycle,
    recall,
    scopes,
    writing,
)
from memories.drafts import Draft
from memories.models import (
    Memory,
    MemoryChange,
)
from memories.receipts import Receipt
from memories.serializers import drafts as draft_forms
from memories.serializers import fields
from memories.serializers import memories as memory_forms
from memories.serializers import search as search_forms
from projects.models import Project

STATUS = {"stored": 201, "duplicate": 200, "superseded_key": 200, "waiting": 202}


class MemoriesDoor(ProjectView):
    @extend_schema(
        operation_id="memories_create",
        request=draft_forms.CreateMemory,
        responses={201: memory_forms.ReceiptOut, 200: memory_forms.ReceiptOut},
    )
    def post(self, request: Request) -> Response:
        """Store one memory; the receipt says what became of it."""
        data = self.body(draft_forms.CreateMemory)
        project = self.project(data)
        if answered := self.replayed(project.pk):
            return answered
        draft = draft_of(data, project, self)
        prepared = writing.prepare(project, [draft], self.caller)
        return self.once(project.pk, lambda: receipt(writing.commit(prepared)[0]))

    @extend_schema(
        operation_id="memories_list",
        parameters=[draft_forms.RetrieveQuery],
        responses=page_of(memory_forms.MemoryOut),
    )
    def get(self, request: Request) -> Response:
        """Read a scope without a query, newest or oldest first."""
        data = self.query(draft_forms.RetrieveQuery)
        project = self.project(data)
        rows = recall.retrieve(project, retrieval_of(data, project, self), self.caller)
        return self.page(
            rows,
            memory_forms.MemoryOut,
            oldest_first=data["order"] == "oldest",
            limit=recall.limit_of(data.get("limit")),
        )


class MemoryBatchDoor(ProjectView):
    @extend_schema(
        operation_id="memories_batch",
        request=draft_forms.CreateMemories,
        responses=memory_forms.BatchOut,
    )
    def post(self, request: Request) -> Response:
        """Store up to 500 memories; each item has its own receipt and status."""
        data = self.body(draft_forms.CreateMemories)
        project = self.project(data)
        if answered := self.replayed(project.pk):
            return answered
        accepted, refused = self.parse(data["memories"], project)
        prepared = writing.prepare(project, list(accepted.values()), self.caller)
        places = list(accepted)

        def act() -> tuple[int, dict[str, Any]]:
            receipts = writing.commit(prepared)
            found = dict(zip(places, receipts, strict=True)) | refused
            written = [each.memory for each in found.values() if each.memory]
            prefetch_related_objects(written, "file_links__file")
            return 200, {"results": [batch_item(found[i]) for i in sorted(found)]}

        return self.once(project.pk, act)

    def parse(
        self, items: list[dict[str, Any]], project: Project
    ) -> tuple[dict[int, Draft], dict[int, Receipt]]:
        """Drafts and refusals, each under the place of its item."""
        accepted: dict[int, Draft] = {}
        refused: dict[int, Receipt] = {}
        for place, item in enumerate(items):
            try:
                form = validate(draft_forms.MemoryInBatch, item)
                refuse_elsewhere(form, project)
                accepted[place] = draft_of(form, project, self)
            except errors.Refusal as refusal:
                refused[place] = Receipt(status="rejected", refusal=refusal)
        return accepted, refused


def refuse_elsewhere(item: dict[str, Any], project: Project) -> None:
    """A batch is of one project; an item that names another one is not moved to it."""
    named = item.get("project_id", project.name)
    if named not in (project.name, str(project.pk)):
        raise errors.Invalid(
            errors={"project_id": ["All items of a batch are of its own project."]}
        )


def draft_of(data: dict[str, Any], project: Project, door: ProjectView) -> Draft:
    names = {field.name for field in dataclasses.fields(Draft)} - {"files", "scope"}
    fields = {name: data[name] for name in names & set(data)}
    if "tags" in fields:
        fields["tags"] = tuple(fields["tags"])
    if not fields.get("memory_type"):
        fields["memory_type"] = classification.type_of(data["content"])
    scope = scopes.resolve(data.get("scope"), project, door.caller)
    return Draft(**fields, files=draft_forms.file_refs(data), scope=scope)


def receipt(written: Receipt) -> tuple[int, dict[str, Any]]:
    if written.refusal:
        raise written.refusal
    return STATUS[written.status], represent(memory_forms.ReceiptOut, written)


def batch_item(written: Receipt) -> dict[str, Any]:
    if written.refusal:
        return {
            **represent(memory_forms.ReceiptOut, written),
            "status_code": written.refusal.status,
            "problem": problem.body_of(written.refusal),
        }
    status, answer = receipt(written)
    return {**answer, "status_code": status}


def retrieval_of(
    data: dict[str, Any], project: Project, door: ProjectView
) -> recall.Retrieval:
    named = data.get("scope")
    scope = scopes.resolve(named, project, door.caller) if named else None
    session_id = data.get("session_id", "") if data["include_narrower"] else ""
    filters = search_forms.filters_of(
        data | {"agent_ids": [data["agent_id"]] if "agent_id" in data else []}
    )
    return recall.Retrieval(
        scope=scope,
        sessions=scopes.narrower(scope, session_id),
        filters=filters,
        since=data.get("since"),
        order=data["order"],
    )


class MemoryDoor(ProjectView):
    @extend_schema(operation_id="memories_read", responses=memory_forms.MemoryDetail)
    def get(self, request: Request, memory_id: uuid.UUID) -> Response:
        """One memory in full, with its files and where it came from."""
        return detail(lifecycle.get(memory_id, self.caller), self)

    @extend_schema(
        operation_id="memories_update",
        request=draft_forms.UpdateMemory,
        responses=memory_forms.MemoryDetail,
    )
    def patch(self, request: Request, memory_id: uuid.UUID) -> Response:
        """Change fields: tags are replaced, metadata merged, a null date cleared."""
        memory = lifecycle.get(memory_id, self.caller, Role.WRITER)
        sent = set(request.data) - {"version"}
        lifecycle.refuse_immutable(dict.fromkeys(sent))
        changes = self.body(draft_forms.UpdateMemory)
        version = changes.pop("version", None)
        # It may be hidden by now, if it was given an end in the past.
        return detail(lifecycle.update(memory, changes, self.caller, version), self)

    @extend_schema(operation_id="memories_delete", responses={204: None})
    def delete(self, request: Request, memory_id: uuid.UUID) -> Response:
        """Delete; 204 for every id, so that it tells nothing of what exists."""
        lifecycle.delete(memory_id, self.caller)
        return Response(status=204)


def detail(memory: Memory, door: ProjectView) -> Response:
    return Response(in_full(memory, door))


def in_full(memory: Memory, door: ProjectView) -> dict[str, Any]:
    lineage = recall.lineage(memory, door.caller)
    shown: dict[str, Any] = memory_forms.MemoryDetail(
        memory, context={"lineage": lineage}
    ).data
    return shown


def changed_once(
    door: ProjectView, memory_id: uuid.UUID, change: Callable[[], Memory]
) -> Response:
    """The changed memory, or the answer that was given before to this Idempotency-Key."""

    def act() -> tuple[int, dict[str, Any]]:
        return 200, in_full(change(), door)

    return door.once(lifecycle.project_of(memory_id, door.caller), act)


class RestoreDoor(ProjectView):
    @extend_schema(
        operation_id="memories_restore",
        request=None,
        responses=memory_forms.MemoryDetail,
    )
    def post(self, request: Request, memory_id: uuid.UUID) -> Response:
        """Bring a deleted memory back."""
        return changed_once(
            self, memory_id, lambda: lifecycle.restore(memory_id, self.caller)
        )


class HistoryDoor(ProjectView):
    @extend_schema(
        operation_id="memories_history", responses=page_of(memory_forms.MemoryChangeOut)
    )
    def get(self, request: Request, memory_id: uuid.UUID) -> Response:
        """What changed in a memory, newest first; a deleted one has it still."""
        if not Memory.objects.visible_to(self.caller).filter(pk=memory_id).exists():
            raise errors.NotFound
        rows = MemoryChange.objects.visible_to(self.caller).filter(memory_id=memory_id)
        return self.page(rows, memory_forms.MemoryChangeOut)


class VerifyDoor(ProjectView):
    @extend_schema(
        operation_id="memories_verify",
        request=fields.Note,
        responses=memory_forms.MemoryDetail,
    )
    def post(self, request: Request, memory_id: uuid.UUID) -> Response:
        """Confirm that a memory still holds."""
        data = self.body(fields.Note)

        def verify() -> Memory:
            memory = lifecycle.get(memory_id, self.caller, Role.WRITER)
            return lifecycle.verify(memory, self.caller, note=data["note"])

        return changed_once(self, memory_id, verify)


class SupersedeDoor(ProjectView):
    @extend_schema(
        operation_id="memories_supersede",
        request=draft_forms.Supersede,
        responses=memory_forms.MemoryDetail,
    )
    def post(self, request: Request, memory_id: uuid.UUID) -> Response:
        """Say that another memory replaces this one."""
        data = self.body(draft_forms.Supersede)

        def supersede() -> Memory:
            memory = lifecycle.get(memory_id, self.caller, Role.WRITER)
            by = lifecycle.get(data["by"], self.caller)
            return lifecycle.supersede(memory, by, self.caller, note=data["note"])

        return changed_once(self, memory_id, supersede)


class DeleteByScopeDoor(ProjectView):
    @extend_schema(
        operation_id="memories_delete_by_scope",
        request=draft_forms.DeleteByScope,
        responses=memory_forms.Deleted,
    )
    def post(self, request: Request) -> Response:
        """Delete exactly one scope of a project, expired rows included."""
        data = self.body(draft_forms.DeleteByScope)
        project = self.project(data, Role.CURATOR)
        scope = scopes.resolve(data["scope"], project, self.caller)

        def act() -> tuple[int, dict[str, Any]]:
            count = lifecycle.delete_scope(project, scope.hash, self.caller)
            return 200, {"deleted": count}

        return self.once(project.pk, act)
