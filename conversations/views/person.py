"""Answer what is known about a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from common.api.serializers import InProject, represent
from conversations.agent_memory.person import describe_person
from conversations.invocations.switch import set_memory
from conversations.serializers.person import PersonOut, SwitchMemory, SwitchOut
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

    @extend_schema(
        operation_id="users_memory_update",
        summary="Turn the memory of a user on or off",
        request=SwitchMemory,
        responses=SwitchOut,
        examples=[
            OpenApiExample(
                "Off", value={"project_id": "docs", "enabled": False}, request_only=True
            )
        ],
    )
    def patch(self, request: Request, user_id: str) -> Response:
        """Turn off: agents are given nothing of the user, and learn nothing.

        What is stored stays, and is read again after it is turned on; `POST /purge`
        removes it. `0` is the anonymous user, whom every request without a user names.
        """
        data = self.body(SwitchMemory)
        project = self.project(data)
        user = read_user_id(user_id)
        switch = set_memory(project, user, data["enabled"], self.caller)
        return Response({"user_id": switch.user_id, "enabled": switch.is_enabled})
