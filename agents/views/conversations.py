"""Read, change, end and delete conversations, and add invocations to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.serializers import conversations as forms
from agents.views.base import AgentView
from common import errors
from common.api.serializers import represent
from common.caller import Role
from conversations.invocations import record
from conversations.invocations.end import end_conversation
from conversations.models import MAX_KEY, Session

IN_DOCS = {"collection": "docs", "user": "42"}


class ConversationRowView(AgentView):
    """Find the conversation that a path and a user name."""

    path_help: ClassVar[Mapping[str, str]] = {
        "conversation_id": "The caller's own name of the conversation, or its session's id."
    }

    def conversation(
        self, data: Mapping[str, Any], conversation_id: str, role: Role
    ) -> Session:
        project = self.project(data, role)
        user = data.get("user", "")
        return record.find_conversation(
            project, conversation_id, user, self.caller, role=role
        )

    def body_with_user(self, form: type[forms.InConversation]) -> dict[str, Any]:
        """Return the body, with the user that the body or the query names."""
        data = self.body(form)
        named = self.query(forms.ConversationUserQuery)
        if "user" in named and data.get("user", named["user"]) != named["user"]:
            message = "It is another user than that of the query; send one of the two."
            raise errors.Invalid(errors={"user": [message]})
        return named | data


def _answer(session: Session, view: AgentView, limit: int = 1_000) -> dict[str, Any]:
    rows = record.list_invocations(session, view.caller)
    newest = list(rows.order_by("-seq")[:limit])
    return {
        "conversation": represent(
            forms.ConversationOut,
            {
                "conversation_id": session.key,
                "user": session.user_id,
                "agent_id": session.agent_id,
                "session_id": session.pk,
                "invocations": newest[::-1],
                "invocation_count": rows.count(),
                "metadata": session.metadata,
                "enabled": session.has_memory,
                "ended_at": session.ended_at,
            },
        )
    }


class ConversationView(ConversationRowView):
    query_methods: ClassVar[frozenset[str]] = frozenset({"GET", "PATCH", "DELETE"})

    @extend_schema(
        operation_id="conversations_read",
        summary="Read the invocations of a conversation",
        parameters=[forms.ReadConversation],
        responses=forms.ConversationAnswer,
    )
    def get(self, request: Request, conversation_id: str) -> Response:
        """The invocations in order, and the metadata. 404 if this user has no such one."""
        data = self.query(forms.ReadConversation)
        session = self.conversation(data, conversation_id, Role.VIEWER)
        return Response(_answer(session, self, data["limit"]))

    @extend_schema(
        operation_id="conversations_update",
        summary="Change the metadata of a conversation, or turn its memory off",
        parameters=[forms.ConversationUserQuery],
        request=forms.UpdateConversation,
        responses=forms.ConversationAnswer,
        examples=[
            OpenApiExample(
                "Turn memory off", value=IN_DOCS | {"enabled": False}, request_only=True
            )
        ],
    )
    def patch(self, request: Request, conversation_id: str) -> Response:
        data = self.body_with_user(forms.UpdateConversation)
        session = self.conversation(data, conversation_id, Role.WRITER)
        names = {"metadata", "enabled"} & set(data)
        changes = {name: data[name] for name in sorted(names)}
        updated = record.update_conversation(session, changes, self.caller)
        return Response(_answer(updated, self))

    @extend_schema(
        operation_id="conversations_delete",
        summary="Hide the invocations of a conversation",
        parameters=[forms.DeleteConversation],
        responses={200: forms.SuccessOut},
    )
    def delete(self, request: Request, conversation_id: str) -> Response:
        """Hide the invocations and their summaries from every later context.

        The messages of the session stay. To destroy both, purge the session
        (`POST /purge`).
        """
        data = self.query(forms.DeleteConversation)
        session = self.conversation(data, conversation_id, Role.WRITER)
        record.hide_invocations(session, self.caller)
        return Response({"success": True})


class InvocationsView(ConversationRowView):
    query_methods: ClassVar[frozenset[str]] = frozenset({"POST"})

    @extend_schema(
        operation_id="conversations_invocations_append",
        summary="Add an invocation to a conversation",
        parameters=[forms.ConversationUserQuery],
        request=forms.AppendInvocation,
        responses={201: forms.InvocationAnswer},
        examples=[
            OpenApiExample(
                "What an agent of your own did",
                value=IN_DOCS
                | {
                    "query": "Is staging up?",
                    "summary": "Asked the health check.",
                    "result": "It is up.",
                },
                request_only=True,
            )
        ],
    )
    def post(self, request: Request, conversation_id: str) -> Response:
        """Add what an agent of your own was asked and did; the first one begins it.

        Where memory is off for the user or the conversation, the answer is 409
        `memory_off`.
        """
        data = self.body_with_user(forms.AppendInvocation)
        if len(conversation_id) > MAX_KEY:
            message = f"Ensure it has at most {MAX_KEY} characters."
            raise errors.Invalid(errors={"conversation_id": [message]})
        project = self.project(data, Role.WRITER)

        def act() -> tuple[int, dict[str, Any]]:
            session = record.begin_conversation(
                project, conversation_id, data.get("user", ""), self.caller
            )
            row = record.append_invocation(
                session,
                data["query"],
                data["summary"],
                data["result"],
                self.caller,
                at=data.get("timestamp"),
            )
            return 201, {"success": True, "invocation_id": str(row.pk)}

        return self.run_once(project.pk, act)


class EndConversationView(ConversationRowView):
    query_methods: ClassVar[frozenset[str]] = frozenset({"POST"})

    @extend_schema(
        operation_id="conversations_end",
        summary="End a conversation",
        parameters=[forms.ConversationUserQuery],
        request=forms.EndConversation,
        responses=forms.SuccessOut,
        examples=[OpenApiExample("End", value=IN_DOCS, request_only=True)],
    )
    def post(self, request: Request, conversation_id: str) -> Response:
        """End a conversation now, so that a job learns from it.

        A conversation without a new invocation for the project's
        `agents.conversation_timeout` minutes ends by itself. A later invocation goes on
        with it.
        """
        data = self.body_with_user(forms.EndConversation)
        session = self.conversation(data, conversation_id, Role.WRITER)

        def act() -> tuple[int, dict[str, Any]]:
            end_conversation(session, self.caller)
            return 200, {"success": True}

        return self.run_once(session.project_id, act)
