"""Append, read, hide and redact messages."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import remove_query_param, replace_query_param

from common.api.serializers import represent
from conversations import sources
from conversations.formats import convert
from conversations.messages import append, undo
from conversations.messages.fork import to_chat
from conversations.messages.history import read_history
from conversations.models import Message, Session
from conversations.serializers import messages as forms
from conversations.sessions import lifecycle, lookup, writers
from conversations.views.base import SessionView
from conversations.views.sessions import draft_of
from projects.models import Project

EXAMPLE = OpenApiExample(
    "A question and its answer",
    value={
        "project_id": "docs",
        "agent_id": "default",
        "user_id": "42",
        "messages": [
            {
                "role": "user",
                "content": "Where are the migrations?",
                "external_id": "m1",
            },
            {"role": "assistant", "content": "In app/migrations.", "external_id": "m2"},
        ],
    },
    request_only=True,
)


class MessagesView(SessionView):
    query_methods: ClassVar[frozenset[str]] = frozenset({"GET", "DELETE"})
    # `append.prepare` masks the secrets of the messages.
    self_guarded: ClassVar[frozenset[str]] = frozenset({"messages"})

    @extend_schema(
        operation_id="sessions_messages_append",
        summary="Append messages",
        request=forms.AppendMessages,
        responses=forms.AppendOut,
        examples=[EXAMPLE],
    )
    def post(self, request: Request, key: str) -> Response:
        """Append up to 500 messages in one transaction.

        With `agent_id`, a session that does not exist is made first. A message whose
        `external_id` the session has already is not stored again.
        """
        data = self.body(forms.AppendMessages)
        project = self.project(data)
        if answer := self.replay(project.pk):
            return answer
        batch = append.prepare(project, forms.read_messages(data["messages"]))

        def act() -> tuple[int, dict[str, Any]]:
            session = self.find_or_make(project, data, key)
            receipt = append.append(project, session, batch, self.caller)
            return 200, represent(forms.AppendOut, receipt)

        return self.run_once(project.pk, act)

    def find_or_make(self, project: Project, data: dict[str, Any], key: str) -> Session:
        """Return the session that the body names; with `agent_id`, make it if need be.

        A body with `agent_id` names the user as a bootstrap does: without `user_id`, the
        user is that of the caller's key, or nobody.
        """
        agent_id, user_id = data.get("agent_id"), data.get("user_id")
        named_user = user_id
        if agent_id is not None:
            user_id = lifecycle.resolve_user(user_id or "", self.caller)
        session = lookup.look_up(project, key, self.caller, user_id=user_id)
        if session is None and named_user is None:
            session = lookup.look_up_id(project, key, self.caller)
        if session is None and agent_id is None:
            raise lookup.not_found_error(key)
        if (
            session
            and writers.is_foreign(session, self.caller)
            and agent_id is not None
        ):
            session = None
        writer = session.user_id if session else user_id or ""
        sources.require_source(data["source"], project.pk, writer, self.caller)
        if session is None:
            draft = draft_of(data, key)
            session, _ = lifecycle.bootstrap(project, draft, self.caller)
        elif agent_id is not None and session.agent_id != agent_id:
            raise lifecycle.SessionIdentity
        return session

    @extend_schema(
        operation_id="sessions_messages_list",
        summary="Read the messages of a session in their order",
        parameters=[forms.ListMessages],
        responses=forms.MessagePage,
    )
    def get(self, request: Request, key: str) -> Response:
        """The whole history, whether it was summarized or not; hidden messages left out."""
        data = self.query(forms.ListMessages)
        _, session = self.session(data, key)
        page = read_history(
            session,
            after_seq=data.get("after_seq"),
            before_seq=data.get("before_seq"),
            limit=data["limit"],
        )
        address = remove_query_param(request.build_absolute_uri(), "before_seq")
        address = remove_query_param(address, "after_seq")
        following = previous = None
        if page.has_next:
            last = page.messages[-1].seq
            following = replace_query_param(address, "after_seq", last)
        if page.has_previous:
            first = page.messages[0].seq
            previous = replace_query_param(address, "before_seq", first)
        results = self.write(page.messages, data["format"])
        return Response({"results": results, "next": following, "previous": previous})

    def write(self, rows: list[Message], name: str) -> list[dict[str, Any]]:
        if name == "messages":
            return [represent(forms.MessageOut, row) for row in rows]
        return convert.write_messages([to_chat(row) for row in rows], name)

    @extend_schema(
        operation_id="sessions_messages_delete",
        summary="Hide the messages from one to the end",
        parameters=[forms.UndoQuery],
        responses={200: forms.UndoOut},
    )
    def delete(self, request: Request, key: str) -> Response:
        """Undo from the end: the messages are hidden, not destroyed."""
        data = self.query(forms.UndoQuery)
        _, session = self.session(data, key)
        return Response(
            {"hidden": undo.hide_from(session, data["from_seq"], self.caller)}
        )


class RedactView(SessionView):
    @extend_schema(
        operation_id="sessions_redact",
        summary="Replace the text of one message by [redacted]",
        request=forms.RedactMessage,
        responses=forms.MessageOut,
        examples=[
            OpenApiExample(
                "Redact",
                value={"project_id": "docs", "reason": "A customer's address."},
                request_only=True,
            )
        ],
    )
    def post(self, request: Request, key: str, seq: int) -> Response:
        """The text is gone for good; summaries over the message are made again."""
        data = self.body(forms.RedactMessage)
        project, session = self.session(data, key)

        def act() -> tuple[int, dict[str, Any]]:
            message = undo.redact(session, seq, data["reason"], self.caller)
            return 200, represent(forms.MessageOut, message)

        return self.run_once(project.pk, act)
