"""Receive the transcript of a coding agent's session, and say how far it is known."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.http import HttpRequest
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from common import errors
from common.api.expanded_body import open_expanded
from common.api.parsing import content_length
from common.api.serializers import represent
from conversations.messages.receive_transcript import (
    TranscriptPart,
    find_transcript,
    receive,
)
from conversations.models import Session
from conversations.serializers import transcripts as forms
from conversations.sessions import lifecycle, lookup, writers
from conversations.sessions.lifecycle import SessionDraft
from conversations.stores import require
from conversations.views.base import SessionView
from projects.models import Project

EXAMPLE = OpenApiExample(
    "A line of Claude Code",
    value='{"type": "user", "uuid": "u1", "message": {"role": "user", "content": "Hello"}}\n',
    request_only=True,
    media_type="application/octet-stream",
)
GZIP_TYPES = ("application/gzip", "application/x-gzip")


class TranscriptView(SessionView):
    idempotent_methods: ClassVar[frozenset[str]] = frozenset()
    query_methods: ClassVar[frozenset[str]] = frozenset({"GET", "POST"})

    @extend_schema(
        operation_id="sessions_transcript_append",
        summary="Store a part of a coding agent's transcript",
        parameters=[forms.SendTranscript],
        request={"application/octet-stream": OpenApiTypes.BINARY},
        responses=forms.TranscriptReceiptOut,
        examples=[EXAMPLE],
    )
    def post(self, request: Request, key: str) -> Response:
        """The body is the file from byte `cursor` on, of any media type.

        It is gzip if the Content-Encoding is `gzip` or the Content-Type `application/gzip`.

        A session that does not exist is made. A message that the session has already is not
        stored again. A job then learns from the tasks that are over.
        """
        data = self.query(forms.SendTranscript)
        project = self.project(data)
        require(project, self.caller, self.capability)
        limit: int = settings.TRANSCRIPT_LIMIT
        sent: HttpRequest = request._request
        if int(content_length(sent) or 0) > limit:
            raise errors.TooLarge(
                f"The body has more than {limit} bytes; send it in parts."
            )
        with open_expanded(sent, is_gzip=is_gzip(sent), limit=limit) as file:
            session = self.find_or_make(project, data, key)
            part = TranscriptPart(
                data["format"],
                file,
                cursor=data["cursor"],
                prefix=data["prefix"],
                end_prefix=data["end_prefix"],
                is_final=data["final"],
            )
            receipt = receive(project, session, part, self.caller)
        return Response(represent(forms.TranscriptReceiptOut, receipt))

    def find_or_make(self, project: Project, data: dict[str, Any], key: str) -> Session:
        user_id = lifecycle.resolve_user(data.get("user_id", ""), self.caller)
        named_user = user_id if "user_id" in data or self.caller.user_id else None
        found = lookup.look_up(project, key, self.caller, user_id=named_user)
        if found is None or writers.is_foreign(found, self.caller):
            agent_id = data.get("agent_id") or self.caller.agent_id or data["format"]
            draft = SessionDraft(key, agent_id, user_id, channel=data["format"])
            found, _ = lifecycle.bootstrap(project, draft, self.caller)
        elif data.get("agent_id", found.agent_id) != found.agent_id:
            raise lifecycle.SessionIdentity
        # The session's queries read the project's settings.
        found.project = project
        return found

    @extend_schema(
        operation_id="sessions_transcript_read",
        summary="Say how far a coding agent's transcript is known",
        parameters=[forms.FindTranscript],
        responses=forms.TranscriptOut,
    )
    def get(self, request: Request, key: str) -> Response:
        data = self.query(forms.FindTranscript)
        _, session = self.session(data, key)
        found = find_transcript(session, data.get("format", ""))
        if found is None:
            raise errors.NotFound("No transcript was sent to this session.")
        return Response(represent(forms.TranscriptOut, found))


def is_gzip(request: HttpRequest) -> bool:
    """Return whether the headers say that the body is gzip."""
    encoding = request.headers.get("Content-Encoding", "").strip().lower()
    media_type = (request.content_type or "").lower()
    return encoding in ("gzip", "x-gzip") or media_type in GZIP_TYPES
