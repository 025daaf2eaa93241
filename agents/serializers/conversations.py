"""What the routes of conversations take and answer."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from agents.serializers.answers import WithError
from agents.serializers.in_collection import InCollection
from common.api.serializers import NullIsAbsent, PlainSerializer
from conversations.invocations.record import MAX_INVOCATIONS, MAX_TEXT
from conversations.serializers.sessions import UserField

USER_HELP = (
    "The user of the conversation, as text or as an integer; `0` and the empty text are the "
    "anonymous user. A key that is bound to a user reads the conversations of its own user."
)


class InConversation(InCollection):
    """Mixin of a body or a query about a conversation of a user."""

    user = UserField(help_text=USER_HELP)


class ReadConversation(InConversation):
    limit = serializers.IntegerField(
        min_value=1,
        max_value=MAX_INVOCATIONS,
        default=1_000,
        help_text="The most invocations; the newest are shown, the first one first.",
    )


class DeleteConversation(InConversation):
    """The query of a deletion."""


class ConversationUserQuery(serializers.Serializer[Any]):
    user = UserField(help_text=f"Instead of `user` in the body. {USER_HELP}")


class UpdateConversation(InConversation, NullIsAbsent):
    """What may be changed of a conversation."""

    metadata = serializers.DictField(
        required=False, help_text="Merged; a key whose value is null is removed."
    )
    enabled = serializers.BooleanField(
        required=False,
        help_text="False turns memory off for this conversation: nothing is read for it and "
        "nothing is learned from it. True turns it on.",
    )


class InvocationSummary(serializers.Serializer[Any]):
    """One question to an agent: the fields of seed 004's `InvocationSummary`."""

    query = serializers.CharField(max_length=MAX_TEXT, help_text="What the user asked.")
    summary = serializers.CharField(
        max_length=MAX_TEXT, allow_blank=True, default="", help_text="What was done."
    )
    result = serializers.CharField(
        max_length=MAX_TEXT, allow_blank=True, default="", help_text="What came of it."
    )
    timestamp = serializers.DateTimeField(
        required=False, help_text="When it was; by default now."
    )


class AppendInvocation(InConversation, NullIsAbsent, InvocationSummary):
    """An invocation to add at the end of a conversation."""


class EndConversation(InConversation):
    """The body that ends a conversation."""


class InvocationOut(PlainSerializer):
    id = serializers.UUIDField(help_text="The id of the invocation.")
    query = serializers.CharField(help_text="What the user asked.")
    summary = serializers.CharField(help_text="What was done.")
    result = serializers.CharField(help_text="What came of it.")
    timestamp = serializers.DateTimeField(source="created_at", help_text="When it was.")
    run_id = serializers.UUIDField(
        allow_null=True,
        help_text="The run of the service's own agent; null if a caller reported it.",
    )


class ConversationOut(serializers.Serializer[Any]):
    """A conversation as seed 004 writes it, and what it is in this service."""

    conversation_id = serializers.CharField(help_text="The caller's name of it.")
    user = serializers.CharField(help_text="Its user; empty for the anonymous one.")
    agent_id = serializers.CharField(help_text="Its agent.")
    session_id = serializers.UUIDField(help_text="The session that has its messages.")
    invocations = InvocationOut(many=True, help_text="The first one first.")
    invocation_count = serializers.IntegerField(
        help_text="How many there are, beyond `limit` too."
    )
    metadata = serializers.DictField(help_text="The caller's own object.")
    enabled = serializers.BooleanField(
        help_text="Whether agents read and write memory in this conversation."
    )
    ended_at = serializers.DateTimeField(
        allow_null=True, help_text="When it was ended; null while it goes on."
    )


class ConversationAnswer(WithError):
    conversation = ConversationOut(help_text="The conversation.")


class SuccessOut(WithError):
    success = serializers.BooleanField(help_text="True; a failure is a problem.")


class InvocationAnswer(SuccessOut):
    invocation_id = serializers.UUIDField(help_text="The id of the new invocation.")
