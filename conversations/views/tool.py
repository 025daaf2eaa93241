"""The memory tool of a session, and what the project's store can do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from common.caller import Role
from conversations.models import Session
from conversations.serializers import tool as forms
from conversations.serializers.sessions import CapabilitiesOut, SessionQuery
from conversations.stores import (
    MemoryTool,
    ToolOptions,
    build_tool,
    capabilities_of,
    store_of,
)
from conversations.stores.contract import SessionRef
from conversations.stores.trace import TracedStore
from conversations.views.base import SessionView
from projects.models import Project

OPTIONS = {"actions", "read_only_profile", "read_only_soul"}


class CapabilitiesView(SessionView):
    @extend_schema(
        operation_id="sessions_capabilities",
        summary="List what the project's store can do",
        parameters=[SessionQuery],
        responses=CapabilitiesOut,
    )
    def get(self, request: Request, key: str) -> Response:
        """The names of the capabilities; the memory tool's actions follow from them."""
        project, _ = self.session(self.query(SessionQuery), key)
        store = store_of(project, self.caller)
        answer = {"store": store.name, "capabilities": capabilities_of(store)}
        return Response(answer)


class MemoryToolView(SessionView):
    @extend_schema(
        operation_id="sessions_memory_tool",
        summary="Read the definition of the memory tool",
        parameters=[forms.ToolQuery],
        responses=forms.ToolOut,
    )
    def get(self, request: Request, key: str) -> Response:
        """Exactly the actions that the store, the options and your rights allow."""
        data = self.query(forms.ToolQuery)
        project, session = self.session(data, key)
        return Response(self.tool(project, session, data).definition)

    @extend_schema(
        operation_id="sessions_memory_tool_call",
        summary="Call the memory tool",
        request=forms.MemoryToolCall,
        responses=forms.ToolAnswerOut,
        examples=[
            OpenApiExample(
                "Search the history",
                value={
                    "project_id": "docs",
                    "action": "search",
                    "pattern": "slow login",
                },
                request_only=True,
            )
        ],
    )
    def post(self, request: Request, key: str) -> Response:
        """Run one action; the text is a sentence for the agent."""
        data = self.body(forms.MemoryToolCall)
        project, session = self.session(data, key, Role.WRITER)
        tool = self.tool(project, session, data)
        arguments = {name: each for name, each in data.items() if name not in OPTIONS}

        def act() -> tuple[int, dict[str, Any]]:
            return 200, asdict(tool.call(arguments))

        # The stored answer has no texts, because a purge would not find them.
        return self.run_once(project.pk, act, hidden=("text", "data"))

    def tool(
        self, project: Project, session: Session, data: Mapping[str, Any]
    ) -> MemoryTool:
        ref = SessionRef(
            session.key, session.agent_id, session.user_id, session.channel
        )
        options = ToolOptions(
            actions=tuple(data.get("actions", ())),
            read_only_profile=data["read_only_profile"],
            read_only_soul=data["read_only_soul"],
        )
        store = TracedStore(store_of(project, self.caller))
        return build_tool(store, ref, project, self.caller, options)
