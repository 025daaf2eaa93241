"""Preview and run a purge, read receipts, and prove what was purged."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from common.api.serializers import page_of
from common.api.views import EVERY_FIELD
from common.caller import Role
from memories.models import Purge
from memories.retention import erase
from memories.serializers import purges as forms

PURGE_ANSWER = PolymorphicProxySerializer(
    component_name="PurgeAnswer",
    serializers=[forms.PurgeReceiptOut, forms.PurgePlanOut],
    resource_type_field_name=None,
)


class PurgeView(ProjectView):
    @extend_schema(
        operation_id="purges_make",
        request=forms.PurgeRequest,
        responses={
            200: PURGE_ANSWER,
            202: forms.PurgeReceiptOut,
        },
    )
    def post(self, request: Request) -> Response:
        """Purge texts and their copies for good. With `dry_run`, they are only counted."""
        data = self.body(forms.PurgeRequest)
        project = self.project(data, Role.OWNER)
        selection = {name: data[name] for name in forms.SELECTIONS if name in data}
        if data["dry_run"]:
            plan = erase.preview(
                project, selection, self.caller, cascade=data["cascade"]
            )
            return Response(forms.PurgePlanOut(vars(plan) | {"dry_run": True}).data)

        def act() -> tuple[int, dict[str, Any]]:
            row = erase.purge(
                project,
                selection,
                self.caller,
                reason=data["reason"],
                cascade=data["cascade"],
            )
            return 200 if row.state == Purge.PurgeState.DONE else 202, _receipt(row)

        return self.run_once(project.pk, act)


class PurgesView(ProjectView):
    @extend_schema(
        operation_id="purges_list",
        parameters=[forms.ListPurges],
        responses=page_of(forms.PurgeOut),
    )
    def get(self, request: Request) -> Response:
        """List the purges of a project, newest first."""
        project = self.project(self.query(forms.ListPurges), Role.OWNER)
        rows = Purge.objects.visible_to(self.caller).filter(project=project)
        return self.page(rows, forms.PurgeOut)


class PurgeReceiptView(ProjectView):
    @extend_schema(
        operation_id="purges_read",
        parameters=[forms.TextsQuery],
        responses=forms.PurgeReceiptOut,
    )
    def get(self, request: Request, purge_id: uuid.UUID) -> Response:
        """Read the receipt of a purge, with a page of the HMACs of its texts."""
        row = erase.get_purge(purge_id, self.caller)
        return Response(_receipt(row, **self.query(forms.TextsQuery)))


class PurgeProofView(ProjectView):
    self_guarded: ClassVar[frozenset[str]] = EVERY_FIELD
    idempotent_methods: ClassVar[frozenset[str]] = frozenset()  # the view only reads

    @extend_schema(
        operation_id="purges_prove",
        request=forms.ProofRequest,
        responses=forms.ProofOut,
    )
    def post(self, request: Request, purge_id: uuid.UUID) -> Response:
        """Tell whether a purge removed exactly this text. The sent text is not stored."""
        row = erase.get_purge(purge_id, self.caller)
        texts = erase.find_texts(row, self.body(forms.ProofRequest)["text"])
        answer = {"is_purged": bool(texts), "texts": texts}
        return Response(forms.ProofOut(answer).data)


def _receipt(
    row: Purge, *, after: uuid.UUID | None = None, limit: int = 1000
) -> dict[str, Any]:
    rows = row.texts.order_by("pk")
    if after:
        rows = rows.filter(pk__gt=after)
    texts = list(rows[: limit + 1])
    receipt = forms.PurgeOut(row).data
    more = {"texts_after": texts[limit - 1].pk if len(texts) > limit else None}
    return (
        receipt | {"texts": forms.PurgedTextOut(texts[:limit], many=True).data} | more
    )
