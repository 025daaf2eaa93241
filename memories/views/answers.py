"""Build the answers that several views of memories return."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from rest_framework.response import Response

from access.project_view import ProjectView
from common.api import problem
from common.api.serializers import represent
from memories.lifecycle import lookup
from memories.models import Memory
from memories.read.lineage import related_ids
from memories.serializers import memories as memory_forms
from memories.store.receipt import Receipt


class MemoryRowView(ProjectView):
    """Base of the views below /memories/{id}."""

    def row_project(self) -> uuid.UUID | None:
        return lookup.project_of(self.kwargs["memory_id"], self.caller)


STATUS = {"stored": 201, "duplicate": 200, "superseded_key": 200, "waiting": 202}


def receipt_answer(receipt: Receipt) -> tuple[int, dict[str, Any]]:
    if receipt.refusal:
        raise receipt.refusal
    return STATUS[receipt.status], represent(memory_forms.ReceiptOut, receipt)


def batch_answer(receipt: Receipt) -> dict[str, Any]:
    if receipt.refusal:
        return {
            **represent(memory_forms.ReceiptOut, receipt),
            "status_code": receipt.refusal.status,
            "problem": problem.body_of(receipt.refusal),
        }
    status, answer = receipt_answer(receipt)
    return {**answer, "status_code": status}


def detail_response(memory: Memory, view: ProjectView) -> Response:
    return Response(detail_answer(memory, view))


def detail_answer(memory: Memory, view: ProjectView) -> dict[str, Any]:
    lineage = related_ids(memory, view.caller)
    answer: dict[str, Any] = memory_forms.MemoryDetail(
        memory, context={"lineage": lineage}
    ).data
    return answer


def answer_once(
    view: ProjectView, memory_id: uuid.UUID, change: Callable[[], Memory]
) -> Response:
    """Apply a change and answer with the memory.

    If the request repeats an Idempotency-Key, repeat the first answer.
    """

    def act() -> tuple[int, dict[str, Any]]:
        return 200, detail_answer(change(), view)

    return view.run_once(lookup.project_of(memory_id, view.caller), act)
