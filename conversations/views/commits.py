"""Receive the commits of a project's repository."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from access.project_view import ProjectView
from common import errors
from common.api.serializers import InProject
from common.caller import Role
from common.text import plain_text
from common.text.quote import visible_line
from conversations.messages import commits
from conversations.messages.append import MAX_MESSAGES
from conversations.messages.commits import MAX_FILES, Commit, describe_left_out
from memories.serializers.fields import PathField

MAX_HASH = 64


class CommitIn(serializers.Serializer[Any]):
    id = serializers.RegexField(
        rf"^[0-9a-f]{{7,{MAX_HASH}}}$",
        help_text="Its hash; a commit that is known is left out.",
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


@extend_schema_field(CommitIn(many=True))
class CommitList(serializers.ListField):
    """Objects, each of which the view validates by itself: a history has odd commits."""

    child = serializers.DictField()


class CommitsIn(InProject):
    commits = CommitList(max_length=MAX_MESSAGES)


class CommitsOut(serializers.Serializer[Any]):
    stored = serializers.IntegerField(help_text="How many were new.")
    notes = serializers.ListField(
        child=serializers.CharField(),
        help_text="Which commits were left out, each with the reason.",
    )


class CommitsView(ProjectView):
    idempotent_methods: ClassVar[frozenset[str]] = frozenset()  # its hash is a key
    # `append.prepare` masks the secrets of the texts.
    self_guarded: ClassVar[frozenset[str]] = frozenset({"commits"})

    @extend_schema(
        operation_id="commits_create", request=CommitsIn, responses={201: CommitsOut}
    )
    def post(self, request: Request) -> Response:
        """Store commits, whose decisions later prompts are given.

        Whoever reads the project reads them. A key that is bound to a user cannot send them. A
        commit that is not valid is left out, and `notes` say why.
        """
        data = self.body(CommitsIn)
        project = self.project(data, Role.WRITER)
        batch, left_out = self.read(data["commits"])
        receipt = commits.record(project, batch, self.caller)
        notes = [*left_out, *receipt.notes]
        answer = CommitsOut({"stored": receipt.count, "notes": notes})
        return Response(answer.data, status=status.HTTP_201_CREATED)

    def read(self, items: list[dict[str, Any]]) -> tuple[list[Commit], list[str]]:
        """Return the commits that are valid, and a note about each of the others."""
        batch: list[Commit] = []
        notes: list[str] = []
        for position, item in enumerate(items):
            try:
                batch.append(Commit(**self.body_item(CommitIn, item)))
            except errors.Refusal as refusal:
                notes.append(describe_left_out(_name(item, position), _say(refusal)))
        return batch, notes


def _name(item: dict[str, Any], position: int) -> str:
    name = plain_text.clip(visible_line(str(item.get("id") or "")), MAX_HASH)
    return name or f"commit {position}"


def _say(refusal: errors.Refusal) -> str:
    fields = (f"{name}: {' '.join(texts)}" for name, texts in refusal.errors.items())
    return " ".join(fields) or refusal.detail
