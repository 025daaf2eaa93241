"""Decisions of people about one delta."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from common.caller import Role
from playbook.history import operations
from playbook.history.live_guard import UnsafeText
from playbook.models import PlaybookDelta, PlaybookEntry
from playbook.reading import delta_list, entry_list
from playbook.review import (
    decide,
    delta_review,
    merge_into_entry,
    renewal,
    revert,
)
from playbook.serializers import deltas as delta_forms
from playbook.serializers import entries as entry_forms
from playbook.views import responses


class DeltaDecisionView(ProjectView):
    """Base view of decisions.

    The view calls `prepare`, then calls `decide` once, and returns `answer`.
    """

    self_guarded: ClassVar[frozenset[str]] = frozenset(
        ["content", "condition", "action", "tags"]
    )
    form: type[Any] = delta_forms.AcceptDelta

    def post(self, request: Request, delta_id: uuid.UUID) -> Response:
        delta = delta_list.get(delta_id, self.caller, Role.CURATOR)
        data = self.body(self.form)
        if response := self.replay(delta.project_id):
            return response
        self.prepare(delta, data)

        def act() -> tuple[int, dict[str, Any]]:
            return 200, self.answer(self.decide(delta, data))

        try:
            return self.run_once(delta.project_id, act)
        except operations.StaleEntry:
            # With an Idempotency-Key, this was rolled back together with the decision.
            self.renew(delta)
            raise
        except UnsafeText:
            delta_review.mark_quarantined(delta, self.caller)
            raise

    def prepare(self, delta: PlaybookDelta, data: dict[str, Any]) -> None:
        """Do the slow steps.

        The view calls `prepare` before it opens the transaction that handles the
        Idempotency-Key.
        """

    def decide(self, delta: PlaybookDelta, data: dict[str, Any]) -> Any:
        raise NotImplementedError

    def renew(self, delta: PlaybookDelta) -> None:
        renewal.renew_stale(delta, self.caller)

    def answer(self, result: Any) -> dict[str, Any]:
        return responses.describe_result(self, result)


class AcceptDeltaView(DeltaDecisionView):
    @extend_schema(
        operation_id="proposals_accept",
        request=delta_forms.AcceptDelta,
        responses=delta_forms.WriteOut,
    )
    def post(self, request: Request, delta_id: uuid.UUID) -> Response:
        """Apply a waiting delta.

        With `replaces`, an addition takes the place of the live rule with this label. A key
        cannot accept its own proposal. A delta in quarantine is edited or rejected.
        """
        return super().post(request, delta_id)

    def prepare(self, delta: PlaybookDelta, data: dict[str, Any]) -> None:
        self.embedded_text = delta_review.embed_text(delta, delta.content)

    def decide(self, delta: PlaybookDelta, data: dict[str, Any]) -> PlaybookDelta:
        return decide.accept(
            delta,
            self.caller,
            version=data.get("expected_version"),
            note=data["note"],
            replaces=self.find_replaced(delta, data),
            embedded_text=self.embedded_text,
        )

    def find_replaced(
        self, delta: PlaybookDelta, data: dict[str, Any]
    ) -> PlaybookEntry | None:
        if "replaces" not in data:
            return None
        return entry_list.get_live(delta.project, data["replaces"], self.caller)


class EditDeltaView(DeltaDecisionView):
    form = delta_forms.EditDelta

    @extend_schema(
        operation_id="proposals_edit",
        request=delta_forms.EditDelta,
        responses=delta_forms.WriteOut,
    )
    def post(self, request: Request, delta_id: uuid.UUID) -> Response:
        """Apply a waiting delta in your own words."""
        return super().post(request, delta_id)

    def prepare(self, delta: PlaybookDelta, data: dict[str, Any]) -> None:
        self.embedded_text = delta_review.embed_text(
            delta, data.get("content") or delta.content
        )

    def decide(self, delta: PlaybookDelta, data: dict[str, Any]) -> PlaybookDelta:
        return decide.edit_and_accept(
            delta,
            entry_forms.settings_of(data),
            self.caller,
            version=data.get("expected_version"),
            note=data["note"],
            embedded_text=self.embedded_text,
        )


class MergeDeltaView(DeltaDecisionView):
    form = delta_forms.MergeDelta

    @extend_schema(
        operation_id="proposals_merge",
        request=delta_forms.MergeDelta,
        responses=delta_forms.WriteOut,
    )
    def post(self, request: Request, delta_id: uuid.UUID) -> Response:
        """Merge the text of a waiting delta into an entry."""
        return super().post(request, delta_id)

    def prepare(self, delta: PlaybookDelta, data: dict[str, Any]) -> None:
        self.entry = entry_list.get(data["entry_id"], self.caller, Role.CURATOR)
        self.embedded_text = merge_into_entry.make_text(
            delta, self.entry, data.get("content", "")
        )

    def decide(self, delta: PlaybookDelta, data: dict[str, Any]) -> PlaybookDelta:
        return merge_into_entry.merge(
            delta,
            self.entry,
            self.caller,
            embedded_text=self.embedded_text,
            version=data.get("expected_version"),
            entry_version=data.get("entry_version"),
            note=data["note"],
        )

    def renew(self, delta: PlaybookDelta) -> None:
        """Do nothing.

        The entry to merge into has changed, and not the entry of the delta.
        """


class RejectDeltaView(DeltaDecisionView):
    form = delta_forms.RejectDelta

    @extend_schema(
        operation_id="proposals_reject",
        request=delta_forms.RejectDelta,
        responses=delta_forms.WriteOut,
    )
    def post(self, request: Request, delta_id: uuid.UUID) -> Response:
        """Reject a waiting or stale delta, with a reason."""
        return super().post(request, delta_id)

    def decide(self, delta: PlaybookDelta, data: dict[str, Any]) -> PlaybookDelta:
        version = data.get("expected_version")
        return decide.reject(
            delta,
            self.caller,
            reason=data["reason"],
            reason_code=data.get("reason_code", ""),
            version=version,
        )


class UndoDeltaView(DeltaDecisionView):
    form = delta_forms.UndoDelta

    @extend_schema(
        operation_id="proposals_undo",
        request=delta_forms.UndoDelta,
        responses=delta_forms.WriteOut,
    )
    def post(self, request: Request, delta_id: uuid.UUID) -> Response:
        """Undo a delta, or the undo of a delta.

        The request is refused if later changes depend on the delta.
        """
        return super().post(request, delta_id)

    def decide(self, delta: PlaybookDelta, data: dict[str, Any]) -> PlaybookDelta:
        return revert.undo_delta(
            delta,
            self.caller,
            reason=data["reason"],
            version=data.get("expected_version"),
        )
