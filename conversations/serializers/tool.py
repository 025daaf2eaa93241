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
    read_only_profile = serializers.BooleanField(
        default=False, help_text="Leave out the actions that change the profile."
    )
    read_only_soul = serializers.BooleanField(
        default=False, help_text="Leave out the actions that change the soul."
    )


class ToolQuery(InSession, ToolFields):
    """The query for the definition of the tool."""


class ToolOut(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="The name of the tool.")
    description = serializers.CharField(help_text="What the tool does, for the model.")
    parameters = serializers.DictField(help_text="The JSON schema of the actions.")


class MemoryToolCall(InSession, ToolFields):
    """A call of the tool: the action, and its fields as the definition names them."""

    action = serializers.CharField(
        max_length=50, help_text="One of the actions of the definition."
    )
    pattern = serializers.CharField(
        required=False, allow_blank=True, help_text="What to search for."
    )
    summary_id = serializers.CharField(
        required=False, allow_blank=True, help_text="The summary to describe or expand."
    )
    token_cap = serializers.IntegerField(
        required=False, help_text="The most tokens of an expansion."
    )
    content = serializers.CharField(
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        help_text="The new text of the profile or the soul.",
    )
    source = serializers.ChoiceField(  # type: ignore[assignment]  # the API's name
        choices=["agent", "user"],
        required=False,
        help_text="Whose word it is; `user` for constraints and rollbacks.",
    )
    scope = serializers.ChoiceField(
        choices=["profile", "soul"],
        required=False,
        help_text="What to search, or the text of the history.",
    )
    limit = serializers.IntegerField(required=False, help_text="The most entries.")
    version = serializers.IntegerField(
        required=False, help_text="The version to roll back to."
    )
    constraint_text = serializers.CharField(
        required=False, allow_blank=True, help_text="The constraint to add."
    )
    constraint_id = serializers.CharField(
        required=False, allow_blank=True, help_text="The constraint to remove."
    )


class ToolAnswerOut(serializers.Serializer[Any]):
    text = serializers.CharField(help_text="A sentence for the agent.")
    data = serializers.JSONField(allow_null=True, help_text="The same as data.")  # type: ignore[assignment]  # the API's name
