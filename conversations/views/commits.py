"""Receive the commits of a project's repository."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from common.api.serializers import InProject
from common.caller import Role
from conversations.messages import commits
from conversations.messages.append import MAX_MESSAGES
from conversations.messages.commits import MAX_FILES, Commit
from memories.serializers.fields import PathField


class CommitIn(serializers.Serializer[Any]):
    id = serializers.RegexField(
        r"^[0-9a-f]{7,64}$", help_text="Its hash; a commit that is known is left out."
    )
    subject = serializers.CharField(max_length=1_000)
    body = serializers.CharField(
        max_length=20_000,
        required=False,
        default="",
        allow_blank=True,
        help_text="Trailers at its end, such as Signed-off-by, are not kept.",
    )
    date = serializers.DateTimeField()
    files = serializers.ListField(
        child=PathField(),
        max_length=MAX_FILES,
        required=False,
        default=list,
        help_text="The files that it changed.",
    )


class CommitsIn(InProject):
    commits = serializers.ListField(child=CommitIn(), max_length=MAX_MESSAGES)


class CommitsOut(serializers.Serializer[Any]):
    stored = serializers.IntegerField(help_text="How many were new.")
    notes = serializers.ListField(child=serializers.CharField())


class CommitsView(ProjectView):
    # `append.prepare` masks the secrets of the texts.
    self_guarded: ClassVar[frozenset[str]] = frozenset({"commits"})

    @extend_schema(
        operation_id="commits_store", request=CommitsIn, responses={201: CommitsOut}
    )
    def post(self, request: Request) -> Response:
        """Store commits, whose decisions later prompts are given.

        Whoever reads the project reads them.
        """
        data = self.body(CommitsIn)
        project = self.project(data, Role.WRITER)
        batch = [Commit(**each) for each in data["commits"]]
        receipt = commits.record(project, batch, self.caller)
        answer = CommitsOut({"stored": receipt.count, "notes": receipt.notes})
        return Response(answer.data, status=status.HTTP_201_CREATED)
