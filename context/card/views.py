"""The view of the project card."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from common.api.serializers import InProject
from context.card import card
from context.card.serializers import CardOut


class CardView(ProjectView):
    @extend_schema(
        operation_id="context_card", parameters=[InProject], responses=CardOut
    )
    def get(self, request: Request) -> Response:
        """Return the project card: what every session should know, made by counting alone.

        The answer has an `ETag`; with `If-None-Match` and the same card it is 304.
        """
        data = self.query(InProject)
        made = card.make(self.project(data), self.caller)
        tag = f'"{made.etag}"'
        if request.headers.get("If-None-Match") == tag:
            return Response(status=304, headers={"ETag": tag})
        return Response(CardOut(made).data, headers={"ETag": tag})
