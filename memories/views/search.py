"""The search."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.doors import Door, shown
from common import replicas
from common.caller import Role
from memories import recall
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
        wanted = search_forms.request_of(data, project, self.caller)
        answer = replicas.read(lambda: recall.search(project, wanted, self.caller))
        return Response(shown(search_forms.SearchAnswer, answer))
