"""Search memories."""

from __future__ import annotations

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from common import replicas
from common.api.serializers import represent
from common.caller import Role
from memories.queries import UNSCOPED_NOTE
from memories.read.recalls import note_recalled
from memories.read.search import find
from memories.serializers import search as search_forms
from search import search


class SearchView(ProjectView):
    idempotent_methods: ClassVar[frozenset[str]] = frozenset()  # the view only reads

    @extend_schema(
        operation_id="search",
        request=search_forms.SearchRequest,
        responses=search_forms.SearchAnswer,
    )
    def post(self, request: Request) -> Response:
        """Search memories by meaning, by words, or by both."""
        data = self.body(search_forms.SearchRequest)
        # The call comes before the query for the project, so that the model embeds in the
        # meantime.
        vector = search.begin_vector(data["query"], data["mode"], data["syntax"])
        project = self.project(data, Role.VIEWER)
        search_request = search_forms.request_of(data, project, self.caller)
        answer = replicas.read_from_replica(
            lambda: find(project, search_request, self.caller, vector)
        )
        if answer.leaves_workspaces_out:
            self.notes.add(UNSCOPED_NOTE)
        note_recalled(hit.memory for hit in answer.hits)
        if asked := data.get("fields"):
            context = {"fields": asked}
            return Response(search_forms.SearchAnswer(answer, context=context).data)
        # A shared serializer, because making its fields takes longer than reading the hits.
        return Response(represent(search_forms.SearchAnswer, answer))
