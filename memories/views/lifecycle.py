"""Restore, confirm, supersede and delete memories, and list their history."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from common.api.serializers import PageQuery, page_of
from common.caller import Role
from memories import scopes
from memories.lifecycle import delete, lookup, restore, supersede, verify
from memories.models import Memory, MemoryChange
from memories.serializers import drafts as draft_forms
from memories.serializers import fields
from memories.serializers import memories as memory_forms
from memories.views.answers import MemoryRowView, answer_once


class RestoreMemoryView(ProjectView):
    body_methods: ClassVar[frozenset[str]] = frozenset()

    @extend_schema(
        operation_id="memories_restore",
        request=None,
        responses=memory_forms.MemoryDetail,
    )
    def post(self, request: Request, memory_id: uuid.UUID) -> Response:
        """Restore a deleted memory."""
        return answer_once(
            self, memory_id, lambda: restore.restore_memory(memory_id, self.caller)
        )


class MemoryHistoryView(ProjectView):
    @extend_schema(
        operation_id="memories_history",
        parameters=[PageQuery],
        responses=page_of(memory_forms.MemoryChangeOut),
    )
    def get(self, request: Request, memory_id: uuid.UUID) -> Response:
        """List the changes of a memory, even of a deleted one, newest first."""
        self.query(PageQuery)
        if not Memory.objects.visible_to(self.caller).filter(pk=memory_id).exists():
            raise lookup.not_found_error(memory_id)
        rows = MemoryChange.objects.visible_to(self.caller).filter(memory_id=memory_id)
        return self.page(rows, memory_forms.MemoryChangeOut)


class VerifyMemoryView(MemoryRowView):
    @extend_schema(
        operation_id="memories_verify",
        request=fields.Note,
        responses=memory_forms.MemoryDetail,
    )
    def post(self, request: Request, memory_id: uuid.UUID) -> Response:
        """Confirm that a memory still holds."""
        data = self.body(fields.Note)

        def act() -> Memory:
            memory = lookup.get_memory(memory_id, self.caller, Role.WRITER)
            return verify.verify_memory(memory, self.caller, note=data["note"])

        return answer_once(self, memory_id, act)


class SupersedeMemoryView(MemoryRowView):
    @extend_schema(
        operation_id="memories_supersede",
        request=draft_forms.Supersede,
        responses=memory_forms.MemoryDetail,
    )
    def post(self, request: Request, memory_id: uuid.UUID) -> Response:
        """Replace this memory with another one."""
        data = self.body(draft_forms.Supersede)

        def act() -> Memory:
            memory = lookup.get_memory(memory_id, self.caller, Role.WRITER)
            by = lookup.get_memory(data["by"], self.caller)
            return supersede.supersede_memory(
                memory, by, self.caller, note=data["note"]
            )

        return answer_once(self, memory_id, act)


class DeleteByScopeView(ProjectView):
    @extend_schema(
        operation_id="memories_delete_by_scope",
        request=draft_forms.DeleteByScope,
        responses=memory_forms.DeleteCountOut,
    )
    def post(self, request: Request) -> Response:
        """Delete all memories of exactly one scope of a project, expired ones included."""
        data = self.body(draft_forms.DeleteByScope)
        project = self.project(data, Role.WRITER)
        scope = scopes.resolve(data["scope"], project, self.caller)

        def act() -> tuple[int, dict[str, Any]]:
            count = delete.delete_scope(project, scope, self.caller)
            return 200, {"deleted": count}

        return self.run_once(project.pk, act)
