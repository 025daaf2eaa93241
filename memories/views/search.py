"""The search."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.doors import Door
from common import replicas
from common.caller import Role
from memories import (
    recall,
    scopes,
)
from memories.serializers import search as search_forms


class SearchDoor(Door):
    @extend_schema(
        operation_id="search",
        request=search_forms.SearchRequest,
        responses=search_forms.SearchAnswer,
    )
    def post(self, request: Request) -> Response:
        """Search memories by meaning, by words, or by both."""
        data = self.body(search_forms.SearchRequest)
        project = self.project(data, Role.VIEWER)
        scope = None
        if data.get("scope"):
            scope = scopes.resolve(data["scope"], project, self.caller)
        weights = data.get("weights") or {}
        wanted = recall.Request(
            query=data["query"],
            mode=data["mode"],
            limit=data["limit"],
            filters=search_forms.filters_of(data),
            scope=scope,
            min_score=data.get("min_score"),
            fusion=data.get("fusion"),
            keyword_weight=weights.get("keyword"),
            semantic_weight=weights.get("semantic"),
            explain=data["explain"],
        )
        answer = replicas.read(lambda: recall.search(project, wanted, self.caller))
        return Response(search_forms.SearchAnswer(answer).data)
