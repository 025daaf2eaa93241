"""Views of API keys: list, issue, read, revoke, rotate."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any, ClassVar

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access import keys
from access import serializers as shapes
from access.models import ApiKey
from access.project_view import ProjectView
from common.api.serializers import page_of
from projects import project_lookup


class KeyListView(ProjectView):
    @extend_schema(
        operation_id="keys_list",
        summary="List your own key and the keys of projects you own",
        parameters=[shapes.ListKeys],
        responses=page_of(shapes.KeyOut),
    )
    def get(self, request: Request) -> Response:
        query = self.query(shapes.ListKeys)
        rows = ApiKey.objects.visible_to(self.caller)
        if query["usable"]:
            rows = rows.usable()
        if "project_id" in query:
            rows = rows.filter(projects=query["project_id"])
        return self.page(rows.prefetch_related("projects"), shapes.KeyOut)

    @extend_schema(
        operation_id="keys_issue",
        summary="Issue a key; its secret is returned only once",
        request=shapes.IssueKey,
        responses={201: shapes.IssuedKeyOut},
    )
    def post(self, request: Request) -> Response:
        data = self.body(shapes.IssueKey)
        data["projects"] = [
            project_lookup.find_project(id_or_name, self.caller)
            for id_or_name in data["projects"]
        ]

        def act() -> tuple[int, dict[str, Any]]:
            return 201, _key_with_secret(keys.issue(**data, caller=self.caller))

        return self.run_once(None, act, hidden=("secret",))


def _key_with_secret(issued: keys.IssuedKey) -> dict[str, Any]:
    return {**shapes.KeyOut(issued.key).data, "secret": issued.secret}


class KeyView(ProjectView):
    """Base of the views below /keys/{id}."""

    def get_key(self) -> ApiKey:
        rows = ApiKey.objects.visible_to(self.caller)
        key = rows.filter(pk=self.kwargs["key_id"]).first()
        if key is None:
            raise Http404
        return key


class KeyDetailView(KeyView):
    query_methods: ClassVar[frozenset[str]] = frozenset()

    @extend_schema(
        operation_id="keys_read", summary="Read a key", responses=shapes.KeyOut
    )
    def get(self, request: Request, key_id: uuid.UUID) -> Response:
        return Response(shapes.KeyOut(self.get_key()).data)

    @extend_schema(
        operation_id="keys_update",
        summary="Say whether a key may attest, and acts for users",
        request=shapes.ChangeKey,
        responses=shapes.KeyOut,
    )
    def patch(self, request: Request, key_id: uuid.UUID) -> Response:
        key, data = self.get_key(), self.body(shapes.ChangeKey)
        changed = keys.change(key, caller=self.caller, **data)
        return Response(shapes.KeyOut(changed).data)

    @extend_schema(
        operation_id="keys_revoke", summary="Revoke a key now", responses={204: None}
    )
    def delete(self, request: Request, key_id: uuid.UUID) -> Response:
        keys.revoke(self.get_key(), caller=self.caller)
        return Response(status=204)


class RotateKeyView(KeyView):
    @extend_schema(
        operation_id="keys_rotate",
        summary="Replace a key; the old one stays usable for a while",
        request=shapes.RotateKey,
        responses={201: shapes.IssuedKeyOut},
    )
    def post(self, request: Request, key_id: uuid.UUID) -> Response:
        key, data = self.get_key(), self.body(shapes.RotateKey)
        overlap = timedelta(hours=data["overlap_hours"])

        def act() -> tuple[int, dict[str, Any]]:
            return 201, _key_with_secret(keys.rotate(key, overlap, caller=self.caller))

        return self.run_once(None, act, hidden=("secret",))
