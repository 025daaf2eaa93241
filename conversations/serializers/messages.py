"""Serializers of messages, and of the requests that append, read, hide and redact them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rest_framework import serializers

from common import errors
from common.api.serializers import PlainSerializer
from conversations.formats import convert
from conversations.formats.harness import METADATA_KEYS
from conversations.formats.message import ChatMessage, MalformedMessage
from conversations.messages.append import MAX_EXTERNAL_ID, MAX_MESSAGES
from conversations.serializers.sessions import InSession, SessionFields
from conversations.sources import SOURCES
from memories.serializers.fields import VerbatimField

FORMAT_HELP = (
    "`messages` is the product's own shape; `openai` are OpenAI's chat messages, and "
    "`anthropic` are Anthropic's."
)


class MessageEnvelope(serializers.Serializer[Any]):
    """What a message has beside its words, in every format."""

    external_id = VerbatimField(
        max_length=MAX_EXTERNAL_ID,
        required=False,
        allow_blank=True,
        allow_null=True,
        help_text="The caller's own id of the message.",
    )
    created_at = serializers.DateTimeField(
        required=False, allow_null=True, help_text="When it was said; now by default."
    )
    metadata = serializers.DictField(
        required=False,
        allow_null=True,
        help_text="What the caller or a format says beside the words.",
    )


class AppendMessages(InSession, SessionFields):
    """Messages to append; with `agent_id`, a session that does not exist is made."""

    source = serializers.ChoiceField(  # type: ignore[assignment]  # the API's name
        choices=SOURCES,
        default="agent",
        help_text="Whose write this is. `user` is for a signed-in person, a key bound to the "
        "user, and curators; `system` is for owners.",
    )
    messages = serializers.ListField(
        child=serializers.DictField(),
        max_length=MAX_MESSAGES,
        help_text="Each has a `role` and either `content` or `parts`, in the product's own "
        "shape, OpenAI's or Anthropic's; and optionally `external_id` (a repeated append "
        "stores it once), `created_at` and `metadata`.",
    )


def read_messages(items: Sequence[Mapping[str, Any]]) -> list[ChatMessage]:
    """Return the messages of a body; refuse with the path of each wrong field."""
    envelopes = [_read_envelope(n, item) for n, item in enumerate(items)]
    names = set(MessageEnvelope().fields)
    words = [{k: v for k, v in each.items() if k not in names} for each in items]
    try:
        messages = convert.read_messages(words)
    except MalformedMessage as error:
        raise errors.Invalid(
            errors={f"messages.{error.path}": [error.message]}
        ) from None
    return [
        replace(
            message,
            external_id=envelope.get("external_id") or "",
            created_at=envelope.get("created_at"),
            metadata={**message.metadata, **_own_metadata(envelope)},
        )
        for message, envelope in zip(messages, envelopes, strict=True)
    ]


def _own_metadata(envelope: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a caller says beside the words; only a transcript marks its messages."""
    sent = envelope.get("metadata") or {}
    return {name: sent[name] for name in sent if name not in METADATA_KEYS}


def _read_envelope(position: int, item: Mapping[str, Any]) -> dict[str, Any]:
    form = MessageEnvelope(data=item)
    if form.is_valid():
        valid: dict[str, Any] = form.validated_data
        return valid
    wrong = {
        f"messages.{position}.{k}": list(map(str, v)) for k, v in form.errors.items()
    }
    raise errors.Invalid(errors=wrong)


class AppendOut(PlainSerializer):
    """What an append stored; the seqs are null if it stored nothing."""

    first_seq = serializers.IntegerField(
        allow_null=True,
        help_text="The place of the first stored message; null if none was stored.",
    )
    last_seq = serializers.IntegerField(
        allow_null=True,
        help_text="The place of the last stored message; null if none was stored.",
    )
    count = serializers.IntegerField(help_text="How many messages were stored.")
    tokens = serializers.IntegerField(help_text="The tokens of the stored messages.")
    needs_compaction = serializers.BooleanField(
        help_text="True if the context passed its threshold; a job compacts it."
    )
    notes = serializers.ListField(
        child=serializers.CharField(), help_text="What else to know about the answer."
    )


class MessageOut(PlainSerializer):
    id = serializers.UUIDField(help_text="The id.")
    seq = serializers.IntegerField(help_text="The place of the message in its session.")
    role = serializers.CharField(help_text="`system`, `user`, `assistant` or `tool`.")
    content = serializers.CharField(
        source="text", help_text="The plain text of the parts."
    )
    parts = serializers.ListField(
        child=serializers.DictField(),
        help_text="The parts: text, thinking, tool_call, tool_result, attachment.",
    )
    tokens = serializers.IntegerField(
        help_text="An estimate: the UTF-8 bytes divided by four."
    )
    external_id = serializers.CharField(help_text="The caller's own id of the message.")
    metadata = serializers.DictField(
        help_text="What the caller or a format says beside the words."
    )
    created_at = serializers.DateTimeField(help_text="When it was created.")


class ListMessages(InSession):
    after_seq = serializers.IntegerField(
        min_value=0, required=False, help_text="Only messages after this one."
    )
    before_seq = serializers.IntegerField(
        min_value=0, required=False, help_text="Only messages before this one."
    )
    limit = serializers.IntegerField(
        min_value=1, max_value=1_000, default=100, help_text="The most messages."
    )
    format = serializers.ChoiceField(
        choices=convert.FORMATS, default="messages", help_text=FORMAT_HELP
    )


class MessagePage(serializers.Serializer[Any]):
    """A page of messages in their order; with a format, `results` are in this format."""

    results = MessageOut(many=True, help_text="In the order of the session.")
    next = serializers.URLField(
        allow_null=True, help_text="The URL of the next page; null at the end."
    )
    previous = serializers.URLField(
        allow_null=True, help_text="The URL of the page before; null at the beginning."
    )


class UndoQuery(InSession):
    from_seq = serializers.IntegerField(
        min_value=1, help_text="The first message to hide; all after it are hidden too."
    )


class UndoOut(serializers.Serializer[Any]):
    hidden = serializers.IntegerField(help_text="How many messages were hidden.")


class RedactMessage(InSession):
    reason = serializers.CharField(max_length=500, help_text="Why; it is audited.")
