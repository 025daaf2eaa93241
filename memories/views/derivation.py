"""Derive memories from others.

The views promote a memory, compact several memories, and undo a compaction.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from common.api.serializers import represent
from common.caller import Role
from memories import scopes
from memories.lifecycle import derive, lookup, promote
from memories.lifecycle.derive import Derivation
from memories.retention import compact, undo_compaction
from memories.serializers import derivation as forms
from memories.serializers import memories as memory_forms
from memories.store.receipt import Receipt
from memories.views import answers


class PromoteMemoryView(answers.MemoryRowView):
    @extend_schema(
        operation_id="memories_promote",
        request=forms.Promote,
        responses={201: memory_forms.ReceiptOut},
    )
    def post(self, request: Request, memory_id: uuid.UUID) -> Response:
        """Copy a memory into a broader scope."""
        # The replay comes first, because the first request with this key may have deleted the
        # memory.
        if answer := self.replay(lookup.project_of(memory_id, self.caller)):
            return answer
        memory = lookup.get_memory(memory_id, self.caller, Role.WRITER)
        data = self.body(forms.Promote)
        target = scopes.resolve(data["target_scope"], memory.project, self.caller)
        prepared = promote.prepare(
            memory,
            target,
            self.caller,
            delete_original=data["delete_original"],
            content=data.get("content"),
            tags=data.get("tags"),
        )
        return _commit(self, prepared)


class CompactMemoriesView(ProjectView):
    @extend_schema(
        operation_id="memories_compact",
        request=forms.Compact,
        responses={200: forms.CompactionPlanOut, 201: memory_forms.ReceiptOut},
    )
    def post(self, request: Request) -> Response:
        """Merge memories of one scope into one, with your text or a summary.

        With `dry_run`, the answer shows the result, and nothing is changed.
        """
        data = self.body(forms.Compact)
        project = self.project(data, Role.WRITER)
        target = None
        if "target_scope" in data:
            target = scopes.resolve(data["target_scope"], project, self.caller)
        options = compact.CompactionOptions(
            delete_sources=data["delete_sources"],
            tags=data.get("tags"),
            metadata=data.get("metadata"),
            expires_at=data.get("expires_at", compact.Expiry.EARLIEST),
        )
        summarizer = compact.project_summarizer(project)
        if "content" in data:
            summarizer = compact.fixed_summarizer(data["content"])
        if answer := self.replay(project.pk):
            return answer
        prepared = compact.prepare(
            project, data["source_ids"], target, summarizer, self.caller, options
        )
        if data["dry_run"]:
            return Response(derive.rehearse(prepared, self.caller, _plan_of(prepared)))
        return _commit(self, prepared)


class UndoCompactionView(ProjectView):
    body_methods: ClassVar[frozenset[str]] = frozenset()

    @extend_schema(
        operation_id="memories_undo_compaction",
        request=None,
        responses=memory_forms.RestoreResultOut,
    )
    def post(self, request: Request, memory_id: uuid.UUID) -> Response:
        """Restore the sources of a compaction and delete its result."""
        if answer := self.replay(lookup.project_of(memory_id, self.caller)):
            return answer
        memory = lookup.get_memory(memory_id, self.caller, Role.WRITER)

        def act() -> tuple[int, Any]:
            sources = undo_compaction.undo(memory, self.caller).in_full()
            return 200, {"restored": memory_forms.MemoryOut(sources, many=True).data}

        return self.run_once(memory.project_id, act)


def _plan_of(prepared: Derivation) -> Callable[[Receipt], dict[str, Any]]:
    deleted = prepared.sources if prepared.retire else []

    def describe(receipt: Receipt) -> dict[str, Any]:
        plan = {"dry_run": True, **vars(receipt), "deleted": [m.pk for m in deleted]}
        answer: dict[str, Any] = represent(forms.CompactionPlanOut, plan)
        return answer

    return describe


def _commit(view: ProjectView, prepared: Derivation) -> Response:
    """Answer 201 for a new memory, even if the new memory superseded a fact."""

    def act() -> tuple[int, dict[str, Any]]:
        receipt = derive.commit(prepared, view.caller)
        return 201, answers.receipt_answer(receipt)[1]

    return view.run_once(prepared.project.pk, act)
