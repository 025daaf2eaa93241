"""Serializers of transcripts: the query that names a part, and the answer."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from common.api.serializers import PlainSerializer
from conversations.serializers.sessions import InSession
from conversations.transcripts.reader import FORMATS

SHA256 = r"^[0-9a-f]{64}$"
MAX_CURSOR = 2**53


class SendTranscript(InSession):
    """Which part of which file the body is."""

    format = serializers.ChoiceField(
        choices=list(FORMATS), help_text="The program that wrote the file."
    )
    agent_id = serializers.CharField(
        max_length=255,
        required=False,
        help_text="The agent of a session that does not exist yet; by default the agent to "
        "which the key is bound, and else the format's name.",
    )
    cursor = serializers.IntegerField(
        default=0,
        min_value=0,
        max_value=MAX_CURSOR,
        help_text="The byte of the file with which the body begins.",
    )
    prefix = serializers.RegexField(
        SHA256,
        required=False,
        default="",
        allow_blank=True,
        help_text="The SHA-256 of the bytes before the cursor, in hexadecimal digits; not "
        "needed at cursor 0.",
    )
    end_prefix = serializers.RegexField(
        SHA256,
        required=False,
        default="",
        help_text="The SHA-256 of all bytes of the file up to the end of the body. With it, "
        "a part behind byte 0 can be continued by the next one.",
    )
    final = serializers.BooleanField(
        default=False,
        help_text="Whether the agent has finished its last task, as at its stop or at the end "
        "of the session; the task is then learned from without waiting for the next prompt.",
    )


class FindTranscript(InSession):
    format = serializers.ChoiceField(
        choices=list(FORMATS),
        required=False,
        help_text="By default the format that was sent last.",
    )


class TranscriptOut(PlainSerializer):
    """How far a file is known."""

    format = serializers.CharField(help_text="The program that wrote the file.")
    cursor = serializers.IntegerField(help_text="The bytes that were read.")
    prefix = serializers.CharField(
        help_text="The SHA-256 of these bytes. If it is empty, send the file from byte 0."
    )


class TranscriptReceiptOut(serializers.Serializer[Any]):
    """What was stored of a part."""

    session = serializers.CharField(source="session.pk", help_text="The session's id.")
    cursor = serializers.IntegerField(
        help_text="The byte with which the next part begins: a last line that is not whole "
        "waits for it, and so does a part with more new messages than it may add."
    )
    prefix = serializers.CharField(
        help_text="The SHA-256 of the bytes before the cursor. It is empty after a part "
        "behind byte 0 without `end_prefix`; the next part is then the file from byte 0."
    )
    messages = serializers.IntegerField(help_text="Messages that are new.")
    tasks = serializers.IntegerField(
        help_text="Prompts in the part that led to a tool call."
    )
    left_out = serializers.DictField(
        child=serializers.IntegerField(),
        source="counts.left_out",
        help_text="Lines and messages that were not stored, by reason.",
    )
    unknown = serializers.DictField(
        child=serializers.IntegerField(),
        source="counts.unknown",
        help_text="Lines of types that the parser does not know, by type, which are not "
        "stored; and elements that it does not know, by name, which are stored as the harness's.",
    )
    job = serializers.UUIDField(
        source="job_id",
        allow_null=True,
        help_text="The job that learns from the tasks; null if there is nothing new, or if "
        "the project does not learn from transcripts.",
    )
