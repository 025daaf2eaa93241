"""Answer what is known about a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from common.api.serializers import InProject, represent
from conversations.agent_memory.person import describe_person
from conversations.serializers.person import PersonOut
from conversations.sessions.lookup import read_user_id


class PersonView(ProjectView):
    path_help: ClassVar[Mapping[str, str]] = {
        "user_id": "The user; `0` is the anonymous one."
    }

    @extend_schema(
        operation_id="users_memory",
        summary="Read what is known about a user",
        parameters=[InProject],
        responses=PersonOut,
    )
    def get(self, request: Request, user_id: str) -> Response:
        """Profile, soul and constraints of each agent, sessions, memories, and counts.

        `0` is the anonymous user. Only rows that you may see are counted. Nothing is
        known about a user who does not exist: the lists are empty.
        """
        project = self.project(self.query(InProject))
        found = describe_person(project, read_user_id(user_id), self.caller)
        return Response(represent(PersonOut, found))
