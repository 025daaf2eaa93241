"""Show how many texts of a project wait for their vectors."""

from __future__ import annotations

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from common.api.serializers import represent
from inference.embedding import missing_vectors
from memories.serializers.missing_vectors import MissingVectorsOut


class MissingVectorsView(ProjectView):
    query_methods: ClassVar[frozenset[str]] = frozenset()

    @extend_schema(
        operation_id="projects_indexing",
        summary="Count the texts that wait for their vectors",
        responses=MissingVectorsOut,
    )
    def get(self, request: Request, project_id: str) -> Response:
        """Count the memories and entries that no search finds by meaning yet.

        A key that is bound to a user counts the texts that the user may read.
        """
        project = self.project({"project_id": project_id})
        answer = missing_vectors.describe(
            project.pk, lambda rows: rows.visible_to(self.caller)
        )
        return Response(represent(MissingVectorsOut, answer))
