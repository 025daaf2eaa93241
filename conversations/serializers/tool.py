"""Serializers of the memory tool."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from conversations.serializers.sessions import InSession
from memories.serializers.fields import CommaList


class ToolFields(serializers.Serializer[Any]):
    """The options of the tool (seed 002)."""

    actions = CommaList(
        child=serializers.CharField(max_length=50),
        required=False,
        help_text="Only these actions; by default all that the store can do.",
    )
    read_only_profile = serializers.BooleanField(default=False)
    read_only_soul = serializers.BooleanField(default=False)


class ToolQuery(InSession, ToolFields):
    """The query for the definition of the tool."""


class ToolOut(serializers.Serializer[Any]):
    name = serializers.CharField()
    description = serializers.CharField()
    parameters = serializers.DictField(help_text="The JSON schema of the actions.")


class MemoryToolCall(InSession, ToolFields):
    """A call of the tool: the action, and its fields as the definition names them."""

    action = serializers.CharField(max_length=50)
    pattern = serializers.CharField(required=False, allow_blank=True)
    summary_id = serializers.CharField(required=False, allow_blank=True)
    token_cap = serializers.IntegerField(required=False)
    content = serializers.CharField(
        required=False, allow_blank=True, trim_whitespace=False
    )
    source = serializers.ChoiceField(  # type: ignore[assignment]  # the API's name
        choices=["agent", "user"], required=False
    )
    scope = serializers.ChoiceField(choices=["profile", "soul"], required=False)
    limit = serializers.IntegerField(required=False)
    version = serializers.IntegerField(required=False)
    constraint_text = serializers.CharField(required=False, allow_blank=True)
    constraint_id = serializers.CharField(required=False, allow_blank=True)


class ToolAnswerOut(serializers.Serializer[Any]):
    text = serializers.CharField(help_text="A sentence for the agent.")
    data = serializers.JSONField(allow_null=True, help_text="The same as data.")  # type: ignore[assignment]  # the API's name
