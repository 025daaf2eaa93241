"""Make, list, read, change, archive, fork and claim sessions."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

from access.project_view import ProjectView
from common.api.serializers import represent
from conversations.messages.fork import fork
from conversations.models import Session
from conversations.serializers import sessions as forms
from conversations.sessions import lifecycle, lookup, session_list, stats
from conversations.sessions.lifecycle import SessionDraft
from conversations.views.base import SessionView

EXAMPLE = OpenApiExample(
    "A session of user 42 with the agent `default`",
    value={
        "project_id": "docs",
        "key": "default:cli:42:main",
        "agent_id": "default",
        "user_id": "42",
        "channel": "cli",
    },
    request_only=True,
)


def session_answer(session: Session) -> dict[str, Any]:
    answer: dict[str, Any] = represent(forms.SessionOut, session)
    return answer


def draft_of(data: dict[str, Any], key: str) -> SessionDraft:
    names = ("agent_id", "user_id", "channel", "title", "metadata", "token_budget")
    return SessionDraft(key, **{name: data[name] for name in names if name in data})


class SessionsView(ProjectView):
    @extend_schema(
        operation_id="sessions_create",
        summary="Make a session, or find it by its key",
        request=forms.BootstrapSession,
        responses={201: forms.SessionOut, 200: forms.SessionOut},
        examples=[EXAMPLE],
    )
    def post(self, request: Request) -> Response:
        """Make a session (201), or return the session that has this key and user (200)."""
        data = self.body(forms.BootstrapSession)
        project = self.project(data)

        def act() -> tuple[int, dict[str, Any]]:
            draft = draft_of(data, data["key"])
            session, is_new = lifecycle.bootstrap(project, draft, self.caller)
            return (201 if is_new else 200), session_answer(session)

        return self.run_once(project.pk, act)

    @extend_schema(
        operation_id="sessions_list",
        summary="List sessions, the last active first",
        parameters=[forms.ListSessions],
        responses=forms.SessionPage,
    )
    def get(self, request: Request) -> Response:
        """Sessions that you may see, the last active first."""
        data = self.query(forms.ListSessions)
        project = self.project(data)
        filters = session_list.SessionFilters(
            agent_id=data.get("agent_id", ""),
            user_id=data.get("user_id"),
            channel=data.get("channel", ""),
            key=data.get("key", ""),
            text=data.get("q", ""),
            include_archived=data["include_archived"],
        )
        rows = session_list.list_sessions(project, filters, self.caller)
        page, cursor = session_list.read_page(
            rows,
            limit=data["limit"],
            offset=data["offset"],
            cursor=data.get("cursor", ""),
        )
        address = request.build_absolute_uri()
        following = replace_query_param(address, "cursor", cursor) if cursor else None
        results = [session_answer(session) for session in page]
        return Response({"results": results, "next": following, "previous": None})


class SessionDetailView(SessionView):
    query_methods: ClassVar[frozenset[str]] = frozenset({"GET", "DELETE"})

    @extend_schema(
        operation_id="sessions_read",
        summary="Read a session",
        parameters=[forms.SessionQuery],
        responses=forms.SessionOut,
    )
    def get(self, request: Request, key: str) -> Response:
        _, session = self.session(self.query(forms.SessionQuery), key)
        return Response(session_answer(session))

    @extend_schema(
        operation_id="sessions_update",
        summary="Change the title, the metadata or the budget, or archive a session",
        request=forms.UpdateSession,
        responses=forms.SessionOut,
        examples=[
            OpenApiExample("Archive", value={"project_id": "docs", "archived": True})
        ],
    )
    def patch(self, request: Request, key: str) -> Response:
        data = self.body(forms.UpdateSession, row=forms.SessionOut)
        _, session = self.session(data, key)
        names = ("title", "metadata", "token_budget", "archived")
        changes = {name: data[name] for name in names if name in data}
        updated = lifecycle.update_session(session, changes, self.caller)
        return Response(session_answer(updated))

    @extend_schema(
        operation_id="sessions_delete",
        summary="Archive a session; nothing is destroyed",
        parameters=[forms.SessionQuery],
        responses={204: None},
    )
    def delete(self, request: Request, key: str) -> Response:
        """Archive a session. To destroy its texts, purge it (`POST /purge`)."""
        _, session = self.session(self.query(forms.SessionQuery), key)
        lifecycle.update_session(session, {"archived": True}, self.caller)
        return Response(status=204)


class ForkView(SessionView):
    @extend_schema(
        operation_id="sessions_fork",
        summary="Begin a new session with the messages up to one",
        request=forms.ForkSession,
        responses={201: forms.SessionOut},
        examples=[
            OpenApiExample(
                "Go on from message 40",
                value={"project_id": "docs", "seq": 40, "key": "default:cli:42:retry"},
                request_only=True,
            )
        ],
    )
    def post(self, request: Request, key: str) -> Response:
        """The new session has the same user and agent, and makes its own summaries."""
        data = self.body(forms.ForkSession)
        project, session = self.session(data, key)

        def act() -> tuple[int, dict[str, Any]]:
            return 201, session_answer(
                fork(session, data["seq"], data["key"], self.caller)
            )

        return self.run_once(project.pk, act)


class ClaimView(SessionView):
    @extend_schema(
        operation_id="sessions_claim",
        summary="Give an anonymous session to a user",
        request=forms.ClaimSession,
        responses=forms.SessionOut,
        examples=[
            OpenApiExample("Claim", value={"project_id": "docs", "user_id": "42"})
        ],
    )
    def post(self, request: Request, key: str) -> Response:
        """A curator may do so, and a key that is bound to the user."""
        data = self.body(forms.ClaimSession)
        project = self.project(data)
        session = lookup.find_anonymous(project, key, self.caller)

        def act() -> tuple[int, dict[str, Any]]:
            return 200, session_answer(
                lifecycle.claim(session, data["user_id"], self.caller)
            )

        return self.run_once(project.pk, act)


class StatsView(SessionView):
    @extend_schema(
        operation_id="sessions_stats",
        summary="Count the messages, tokens and summaries of a session",
        parameters=[forms.SessionQuery],
        responses=forms.StatsOut,
    )
    def get(self, request: Request, key: str) -> Response:
        """Zeros for a session that does not exist."""
        data = self.query(forms.SessionQuery)
        project = self.project(data)
        user_id = data.get("user_id")
        session = lookup.look_up(project, key, self.caller, user_id=user_id)
        return Response(represent(forms.StatsOut, stats.stats_of(session)))
