"""The answers that several views of memories give."""

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

STATUS = {"stored": 201, "duplicate": 200, "superseded_key": 200, "waiting": 202}


def receipt_answer(written: Receipt) -> tuple[int, dict[str, Any]]:
    if written.refusal:
        raise written.refusal
    return STATUS[written.status], represent(memory_forms.ReceiptOut, written)


def batch_answer(written: Receipt) -> dict[str, Any]:
    if written.refusal:
        return {
            **represent(memory_forms.ReceiptOut, written),
            "status_code": written.refusal.status,
            "problem": problem.body_of(written.refusal),
        }
    status, answer = receipt_answer(written)
    return {**answer, "status_code": status}


def detail_response(memory: Memory, door: ProjectView) -> Response:
    return Response(detail_answer(memory, door))


def detail_answer(memory: Memory, door: ProjectView) -> dict[str, Any]:
    lineage = related_ids(memory, door.caller)
    answer: dict[str, Any] = memory_forms.MemoryDetail(
        memory, context={"lineage": lineage}
    ).data
    return answer


def answer_once(
    door: ProjectView, memory_id: uuid.UUID, change: Callable[[], Memory]
) -> Response:
    """The changed memory, or the answer that was given before to this Idempotency-Key."""

    def act() -> tuple[int, dict[str, Any]]:
        return 200, detail_answer(change(), door)

    return door.run_once(lookup.project_of(memory_id, door.caller), act)
