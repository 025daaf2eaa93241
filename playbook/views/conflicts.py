"""Views of conflicts, and the three ways to resolve them."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from common import errors
from common.api.serializers import page_of
from common.caller import Role
from playbook.conflicts import conflict_list
from playbook.conflicts.contradiction import Contradiction
from playbook.models import Conflict
from playbook.review import contradictions, resolve_conflict
from playbook.review.resolution_steps import SplitPart, Vectors
from playbook.review.resolve_conflict import SeenVersions
from playbook.serializers import conflicts as forms


class ConflictsView(ProjectView):
    @extend_schema(
        operation_id="playbook_conflicts_list",
        parameters=[forms.ConflictQuery],
        responses=page_of(forms.ConflictOut),
    )
    def get(self, request: Request) -> Response:
        """List pairs of rules that cannot both hold, each side with its quotes."""
        data = self.query(forms.ConflictQuery)
        project = self.project(data)
        rows = conflict_list.find(project, data.get("state", ()), self.caller)
        return self.page(rows, forms.ConflictOut)


class ConflictView(ProjectView):
    query_methods: ClassVar[frozenset[str]] = frozenset()

    @extend_schema(operation_id="playbook_conflicts_read", responses=forms.ConflictOut)
    def get(self, request: Request, conflict_id: uuid.UUID) -> Response:
        """Return one conflict with both sides."""
        return Response(
            forms.ConflictOut(conflict_list.get(conflict_id, self.caller)).data
        )


class ConflictDecisionView(ProjectView):
    """Base view of decisions.

    The view embeds the texts that the decision writes, and then decides once.
    """

    self_guarded: ClassVar[frozenset[str]] = frozenset(
        ["left_content", "right_content", "left_condition", "right_condition"]
    )
    form: type[Any] = forms.ConflictDecision

    def post(self, request: Request, conflict_id: uuid.UUID) -> Response:
        conflict = conflict_list.get(conflict_id, self.caller, Role.CURATOR)
        data = self.body(self.form)
        if response := self.replay(conflict.project_id):
            return response
        vectors = self.vectors(conflict, data)

        def act() -> tuple[int, dict[str, Any]]:
            self.decide(conflict, data, vectors)
            found = conflict_list.get(conflict.pk, self.caller)
            return 200, forms.ConflictOut(found).data

        try:
            return self.run_once(conflict.project_id, act)
        except errors.Refusal as refusal:
            # With an Idempotency-Key, the note was rolled back together with the decision.
            resolve_conflict.note_refusal(conflict, refusal, self.caller)
            if isinstance(refusal, Contradiction):
                raise contradictions.open_conflicts(refusal) from None
            raise

    def vectors(self, conflict: Conflict, data: dict[str, Any]) -> Vectors:
        return resolve_conflict.vectors_for(conflict)

    def decide(
        self, conflict: Conflict, data: dict[str, Any], vectors: Vectors
    ) -> None:
        raise NotImplementedError

    @staticmethod
    def versions(data: dict[str, Any]) -> SeenVersions:
        return SeenVersions(
            data.get("left_expected_version"), data.get("right_expected_version")
        )


class SupersedeConflictView(ConflictDecisionView):
    form = forms.SupersedeConflict

    @extend_schema(
        operation_id="playbook_conflicts_supersede",
        request=forms.SupersedeConflict,
        responses=forms.ConflictOut,
    )
    def post(self, request: Request, conflict_id: uuid.UUID) -> Response:
        """Keep one side of a conflict.

        By default the newer side is kept. The kept side supersedes the other side.
        """
        return super().post(request, conflict_id)

    def decide(
        self, conflict: Conflict, data: dict[str, Any], vectors: Vectors
    ) -> None:
        resolve_conflict.supersede(
            conflict,
            self.caller,
            winner=data["winner"],
            note=data["note"],
            versions=self.versions(data),
            vectors=vectors,
        )


class SplitConflictView(ConflictDecisionView):
    form = forms.SplitConflict

    @extend_schema(
        operation_id="playbook_conflicts_split",
        request=forms.SplitConflict,
        responses=forms.ConflictOut,
    )
    def post(self, request: Request, conflict_id: uuid.UUID) -> Response:
        """Keep both sides, each side under its own condition."""
        return super().post(request, conflict_id)

    def vectors(self, conflict: Conflict, data: dict[str, Any]) -> Vectors:
        return resolve_conflict.vectors_for(conflict, *self.parts(data))

    def decide(
        self, conflict: Conflict, data: dict[str, Any], vectors: Vectors
    ) -> None:
        left, right = self.parts(data)
        resolve_conflict.split(
            conflict,
            left,
            right,
            self.caller,
            note=data["note"],
            versions=self.versions(data),
            vectors=vectors,
        )

    @staticmethod
    def parts(data: dict[str, Any]) -> tuple[SplitPart, SplitPart]:
        return (
            SplitPart(data["left_condition"], data["left_content"]),
            SplitPart(data["right_condition"], data["right_content"]),
        )


class RejectConflictView(ConflictDecisionView):
    @extend_schema(
        operation_id="playbook_conflicts_reject",
        request=forms.ConflictDecision,
        responses=forms.ConflictOut,
    )
    def post(self, request: Request, conflict_id: uuid.UUID) -> Response:
        """Reject the newer side of a conflict.

        A waiting delta is rejected. An entry is deprecated.
        """
        return super().post(request, conflict_id)

    def vectors(self, conflict: Conflict, data: dict[str, Any]) -> Vectors:
        return {}

    def decide(
        self, conflict: Conflict, data: dict[str, Any], vectors: Vectors
    ) -> None:
        resolve_conflict.reject(
            conflict, self.caller, note=data["note"], versions=self.versions(data)
        )
