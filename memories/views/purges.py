"""Purges: what would go, what went, and the proof of it."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from common.api.serializers import page_of
from common.caller import Role
from memories import purging
from memories.models import Purge
from memories.serializers import purges as forms

DONE_OR_PLANNED = PolymorphicProxySerializer(
    component_name="PurgeAnswer",
    serializers=[forms.PurgeReceipt, forms.PurgePlan],
    resource_type_field_name=None,
)


class PurgeDoor(ProjectView):
    @extend_schema(
        operation_id="purges_make",
        request=forms.AskPurge,
        responses={
            200: DONE_OR_PLANNED,
            202: forms.PurgeReceipt,
        },
    )
    def post(self, request: Request) -> Response:
        """Purge texts for good, with what was copied of them; `dry_run` only counts."""
        data = self.body(forms.AskPurge)
        project = self.project(data, Role.OWNER)
        asked = {name: data[name] for name in forms.SELECTIONS if name in data}
        if data["dry_run"]:
            plan = purging.plan(project, asked, self.caller, cascade=data["cascade"])
            return Response(forms.PurgePlan(vars(plan) | {"dry_run": True}).data)

        def act() -> tuple[int, dict[str, Any]]:
            row = purging.purge(
                project,
                asked,
                self.caller,
                reason=data["reason"],
                cascade=data["cascade"],
            )
            return 200 if row.state == Purge.State.DONE else 202, receipt(row)

        return self.once(project.pk, act)


class PurgesDoor(ProjectView):
    @extend_schema(
        operation_id="purges_list",
        parameters=[forms.ListPurges],
        responses=page_of(forms.PurgeOut),
    )
    def get(self, request: Request) -> Response:
        """The purges of a project, newest first."""
        project = self.project(self.query(forms.ListPurges), Role.OWNER)
        rows = Purge.objects.visible_to(self.caller).filter(project=project)
        return self.page(rows, forms.PurgeOut)


class ReceiptDoor(ProjectView):
    @extend_schema(
        operation_id="purges_read",
        parameters=[forms.TextsQuery],
        responses=forms.PurgeReceipt,
    )
    def get(self, request: Request, purge_id: uuid.UUID) -> Response:
        """The receipt of a purge, with a page of the HMACs of its texts."""
        row = purging.get(purge_id, self.caller)
        return Response(receipt(row, **self.query(forms.TextsQuery)))


class ProofDoor(ProjectView):
    keyed: ClassVar[frozenset[str]] = frozenset()  # it only reads

    @extend_schema(
        operation_id="purges_prove", request=forms.AskProof, responses=forms.ProofOut
    )
    def post(self, request: Request, purge_id: uuid.UUID) -> Response:
        """Whether a text was among those that a purge took; nothing is stored."""
        row = purging.get(purge_id, self.caller)
        texts = purging.proof(row, self.body(forms.AskProof)["text"])
        answer = {"is_purged": bool(texts), "texts": texts}
        return Response(forms.ProofOut(answer).data)


def receipt(
    row: Purge, *, after: uuid.UUID | None = None, limit: int = 1000
) -> dict[str, Any]:
    rows = row.texts.order_by("pk")
    if after:
        rows = rows.filter(pk__gt=after)
    texts = list(rows[: limit + 1])
    told = forms.PurgeOut(row).data
    more = {"texts_after": texts[limit - 1].pk if len(texts) > limit else None}
    return told | {"texts": forms.PurgedTextOut(texts[:limit], many=True).data} | more
