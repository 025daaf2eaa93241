"""What is made of memories: promoted to a broader scope, compacted into one."""

from __future__ import annotations

import uuid
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from common.caller import Role
from memories import compaction, derivation, lifecycle, promotion, scopes
from memories.derivation import Derivation
from memories.serializers import derivation as forms
from memories.serializers import memories as memory_forms
from memories.views import memories


class PromoteDoor(ProjectView):
    @extend_schema(
        operation_id="memories_promote",
        request=forms.Promote,
        responses={201: memory_forms.ReceiptOut},
    )
    def post(self, request: Request, memory_id: uuid.UUID) -> Response:
        """Make a memory known in a broader scope."""
        # The first answer may have been that it is gone.
        if answered := self.replayed(lifecycle.project_of(memory_id, self.caller)):
            return answered
        memory = lifecycle.get(memory_id, self.caller, Role.WRITER)
        data = self.body(forms.Promote)
        target = scopes.resolve(data["target_scope"], memory.project, self.caller)
        prepared = promotion.prepare(
            memory,
            target,
            self.caller,
            delete_original=data["delete_original"],
            content=data.get("content"),
            tags=data.get("tags"),
        )
        return committed(self, prepared)


class CompactDoor(ProjectView):
    @extend_schema(
        operation_id="memories_compact",
        request=forms.Compact,
        responses={201: memory_forms.ReceiptOut},
    )
    def post(self, request: Request) -> Response:
        """Merge memories of one scope into one, with your text or a summary."""
        data = self.body(forms.Compact)
        project = self.project(data, Role.WRITER)
        target = scopes.resolve(data.get("target_scope"), project, self.caller)
        wish = compaction.Wish(
            delete_sources=data["delete_sources"],
            tags=data.get("tags"),
            metadata=data.get("metadata", {}),
            expires_at=data.get("expires_at"),
        )
        summarizer = compaction.summarized(project)
        if "content" in data:
            summarizer = compaction.given(data["content"])
        if answered := self.replayed(project.pk):
            return answered
        prepared = compaction.prepare(
            project, data["source_ids"], target, summarizer, self.caller, wish
        )
        return committed(self, prepared)


class UndoCompactionDoor(ProjectView):
    @extend_schema(
        operation_id="memories_undo_compaction",
        request=None,
        responses=memory_forms.Restored,
    )
    def post(self, request: Request, memory_id: uuid.UUID) -> Response:
        """Bring the sources of a compaction back and delete its result."""
        if answered := self.replayed(lifecycle.project_of(memory_id, self.caller)):
            return answered
        memory = lifecycle.get(memory_id, self.caller, Role.WRITER)

        def act() -> tuple[int, Any]:
            sources = compaction.undo(memory, self.caller).in_full()
            return 200, {"restored": memory_forms.MemoryOut(sources, many=True).data}

        return self.once(memory.project_id, act)


def committed(door: ProjectView, prepared: Derivation) -> Response:
    """A new memory, also where it took the place of an older fact."""

    def act() -> tuple[int, dict[str, Any]]:
        written = derivation.commit(prepared, door.caller)
        return 201, memories.receipt(written)[1]

    return door.once(prepared.project.pk, act)
