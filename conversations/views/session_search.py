"""Search messages and summaries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from common import replicas
from common.api.serializers import represent
from common.caller import Role
from conversations.models import Session
from conversations.serializers import session_search as forms
from conversations.session_search.search import (
    DEFAULT_LIMIT,
    SearchFilters,
    SessionSearch,
    find,
)
from conversations.sessions.lookup import find_session
from conversations.stores import require
from conversations.views.base import SessionView
from projects.models import Project
from search.search import begin_vector


def search_of(data: Mapping[str, Any], session: Session | None) -> SessionSearch:
    return SessionSearch(
        query=data["query"],
        scope=data["scope"],
        mode=data["mode"],
        limit=data["limit"] or DEFAULT_LIMIT,
        around=data["around"],
        filters=SearchFilters(
            session=session,
            user_id=data.get("user_id") if session is None else None,
            agent_id=data.get("agent_id", ""),
            channel=data.get("channel", ""),
            date_from=data.get("date_from"),
            date_to=data.get("date_to"),
        ),
    )


class SearchSessionView(SessionView):
    capability = "searcher"
    idempotent_methods: ClassVar[frozenset[str]] = frozenset()  # the view only reads

    @extend_schema(
        operation_id="sessions_messages_search",
        summary="Search the messages and summaries of one session",
        request=forms.SearchSession,
        responses=forms.SessionSearchOut,
        examples=[
            OpenApiExample(
                "With two messages on each side",
                value={"project_id": "docs", "query": "migrations", "around": 2},
                request_only=True,
            )
        ],
    )
    def post(self, request: Request, key: str) -> Response:
        """By words at once; by meaning as soon as a job has embedded the messages."""
        data = self.body(forms.SearchSession)
        vector = begin_vector(data["query"], data["mode"])
        project, session = self.session(data, key, Role.VIEWER)
        wanted = search_of(data, session)
        found = replicas.read_from_replica(
            lambda: find(project, wanted, self.caller, vector)
        )
        return Response(represent(forms.SessionSearchOut, found))


class SearchSessionsView(ProjectView):
    idempotent_methods: ClassVar[frozenset[str]] = frozenset()  # the view only reads

    @extend_schema(
        operation_id="sessions_search",
        summary="Search every session that you may see",
        request=forms.SearchSessions,
        responses=forms.SessionSearchOut,
        examples=[
            OpenApiExample(
                "Sessions of user 42 in November",
                value={
                    "project_id": "docs",
                    "query": "Which session was about the slow login?",
                    "user_id": "42",
                    "date_from": "2026-11-01T00:00:00Z",
                },
                request_only=True,
            )
        ],
    )
    def post(self, request: Request) -> Response:
        """Filters narrow the sessions and the times."""
        data = self.body(forms.SearchSessions)
        vector = begin_vector(data["query"], data["mode"])
        project = self.project(data, Role.VIEWER)
        require(project, self.caller, "searcher")
        wanted = search_of(data, self.session_of(data, project))
        found = replicas.read_from_replica(
            lambda: find(project, wanted, self.caller, vector)
        )
        return Response(represent(forms.SessionSearchOut, found))

    def session_of(self, data: Mapping[str, Any], project: Project) -> Session | None:
        if "session" not in data:
            return None
        user_id = data.get("user_id")
        return find_session(project, data["session"], self.caller, user_id=user_id)
