"""A person's decision about one delta."""

from __future__ import annotations

import uuid
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from common.caller import Role
from playbook.history import operations
from playbook.models import PlaybookDelta
from playbook.reading import delta_list, entry_list
from playbook.review import (
    decide,
    delta_review,
    merge_into_entry,
    rebase,
    reopen,
    revert,
)
from playbook.serializers import deltas as delta_forms
from playbook.serializers import entries as entry_forms
from playbook.views import responses


class DeltaDecisionView(ProjectView):
    """Prepare, then decide once; `answer` is what the client is told."""

    form: type[Any] = delta_forms.AcceptDelta

    def post(self, request: Request, delta_id: uuid.UUID) -> Response:
        delta = delta_list.get(delta_id, self.caller, Role.CURATOR)
        data = self.body(self.form)
        if answered := self.replay(delta.project_id):
            return answered
        self.prepare(delta, data)

        def act() -> tuple[int, dict[str, Any]]:
            return 200, self.answer(self.decide(delta, data))

        try:
            return self.run_once(delta.project_id, act)
        except operations.StaleEntry:
            # With a key the mark was taken back together with the decision.
            self.note_stale(delta)
            raise

    def prepare(self, delta: PlaybookDelta, data: dict[str, Any]) -> None:
        """What is slow, before the transaction of an Idempotency-Key."""

    def decide(self, delta: PlaybookDelta, data: dict[str, Any]) -> Any:
        raise NotImplementedError

    def note_stale(self, delta: PlaybookDelta) -> None:
        delta_review.mark_stale(delta, self.caller)

    def answer(self, done: Any) -> dict[str, Any]:
        return responses.describe_result(self, done)


class AcceptDeltaView(DeltaDecisionView):
    @extend_schema(
        operation_id="playbook_deltas_accept",
        request=delta_forms.AcceptDelta,
        responses=delta_forms.WriteOut,
    )
    def post(self, request: Request, delta_id: uuid.UUID) -> Response:
        """Apply a waiting delta; a key cannot accept what it proposed itself."""
        return super().post(request, delta_id)

    def prepare(self, delta: PlaybookDelta, data: dict[str, Any]) -> None:
        self.embedded_text = delta_review.embed_text(delta, delta.content)

    def decide(self, delta: PlaybookDelta, data: dict[str, Any]) -> PlaybookDelta:
        return decide.accept(
            delta,
            self.caller,
            version=data.get("expected_version"),
            note=data["note"],
            embedded_text=self.embedded_text,
        )


class EditDeltaView(DeltaDecisionView):
    form = delta_forms.EditDelta

    @extend_schema(
        operation_id="playbook_deltas_edit",
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
        operation_id="playbook_deltas_merge",
        request=delta_forms.MergeDelta,
        responses=delta_forms.WriteOut,
    )
    def post(self, request: Request, delta_id: uuid.UUID) -> Response:
        """Put the text of a waiting delta into an entry that stands."""
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

    def note_stale(self, delta: PlaybookDelta) -> None:
        """The entry that it should go into has changed; the delta may still fit its own."""


class RebaseDeltaView(DeltaDecisionView):
    form = entry_forms.WithVersion

    @extend_schema(
        operation_id="playbook_deltas_rebase",
        request=entry_forms.WithVersion,
        responses=delta_forms.RebaseOut,
    )
    def post(self, request: Request, delta_id: uuid.UUID) -> Response:
        """Renew a waiting or stale delta for its entry as it is now; it waits again."""
        return super().post(request, delta_id)

    def prepare(self, delta: PlaybookDelta, data: dict[str, Any]) -> None:
        self.embedded_text = delta_review.embed_text(delta, delta.content)

    def decide(self, delta: PlaybookDelta, data: dict[str, Any]) -> rebase.RebaseResult:
        version = data.get("expected_version")
        return rebase.rebase_delta(
            delta, self.caller, version=version, embedded_text=self.embedded_text
        )

    def answer(self, done: rebase.RebaseResult) -> dict[str, Any]:
        return delta_forms.RebaseOut(done).data


class RejectDeltaView(DeltaDecisionView):
    form = delta_forms.RejectDelta

    @extend_schema(
        operation_id="playbook_deltas_reject",
        request=delta_forms.RejectDelta,
        responses=delta_forms.WriteOut,
    )
    def post(self, request: Request, delta_id: uuid.UUID) -> Response:
        """Decide against a waiting delta, with a reason."""
        return super().post(request, delta_id)

    def decide(self, delta: PlaybookDelta, data: dict[str, Any]) -> PlaybookDelta:
        version = data.get("expected_version")
        return decide.reject(
            delta,
            self.caller,
            reason=data["reason"],
            reason_code=data["reason_code"],
            version=version,
        )


class UndoDeltaView(DeltaDecisionView):
    form = delta_forms.UndoDelta

    @extend_schema(
        operation_id="playbook_deltas_undo",
        request=delta_forms.UndoDelta,
        responses=delta_forms.WriteOut,
    )
    def post(self, request: Request, delta_id: uuid.UUID) -> Response:
        """Take back what a delta did; refused when later changes stand on it."""
        return super().post(request, delta_id)

    def decide(self, delta: PlaybookDelta, data: dict[str, Any]) -> PlaybookDelta:
        version = data.get("expected_version")
        reason = data["reason"]
        return revert.undo_delta(delta, self.caller, reason=reason, version=version)


class ReopenDeltaView(DeltaDecisionView):
    form = entry_forms.WithVersion

    @extend_schema(
        operation_id="playbook_deltas_reopen",
        request=entry_forms.WithVersion,
        responses=delta_forms.WriteOut,
    )
    def post(self, request: Request, delta_id: uuid.UUID) -> Response:
        """Let a decided delta wait again; what an accepted one did is taken back."""
        return super().post(request, delta_id)

    def prepare(self, delta: PlaybookDelta, data: dict[str, Any]) -> None:
        self.embedded_text = reopen.embed_proposal(delta)

    def decide(self, delta: PlaybookDelta, data: dict[str, Any]) -> PlaybookDelta:
        version = data.get("expected_version")
        return reopen.reopen_delta(
            delta, self.caller, version=version, embedded_text=self.embedded_text
        )
