"""Serializers of the agent's tools."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from agents.models import AgentTool
from agents.serializers.answers import WithError
from agents.tools.definitions import DEFAULT_GROUPS, DEFAULT_STATES, TOOL_NAME
from common.api.serializers import InProject
from memories.serializers.fields import CommaList

MAX_TIMEOUT = 120.0  # seconds
MAX_LABELS = 50  # groups of a server, and states
MAX_DESCRIPTION = 4_000  # characters
LABEL_LENGTH = 100  # characters of a group or a state


class AgentToolFields(serializers.Serializer[Any]):
    """The definition of an MCP server, without its name."""

    description = serializers.CharField(
        max_length=MAX_DESCRIPTION,
        default="",
        allow_blank=True,
        help_text="What the server is for, for people.",
    )
    url = serializers.CharField(
        max_length=2_000, help_text="The address, for streamable HTTP."
    )
    headers = serializers.DictField(
        child=serializers.CharField(max_length=2_000),
        default=dict,
        help_text="Headers of each request. `${AGENT_TOOL_NAME}` becomes a secret that the "
        "operator of the service has set.",
    )
    timeout = serializers.FloatField(
        min_value=0.1,
        max_value=MAX_TIMEOUT,
        default=30.0,
        help_text="The most seconds of a call.",
    )
    groups = serializers.ListField(
        child=serializers.CharField(max_length=LABEL_LENGTH),
        default=DEFAULT_GROUPS,
        max_length=MAX_LABELS,
        min_length=1,
        help_text="The groups that offer the tools; `*` is every group.",
    )
    states = serializers.ListField(
        child=serializers.CharField(max_length=LABEL_LENGTH),
        default=DEFAULT_STATES,
        max_length=MAX_LABELS,
        min_length=1,
        help_text="The states that offer the tools; `*` is every state, and `undefined` a "
        "request without one.",
    )
    confirm = serializers.ChoiceField(
        choices=AgentTool.Confirm.choices,
        default=AgentTool.Confirm.ASK,
        help_text="`ask`: a run stops before a call that may change something, until a person "
        "allows it. `auto`: it does not stop.",
    )
    is_enabled = serializers.BooleanField(
        default=True, help_text="Whether runs are offered the tools."
    )


class PutTool(InProject, AgentToolFields):
    """A definition that replaces another one of the same name."""


class CreateTool(PutTool):
    name = serializers.RegexField(
        f"^{TOOL_NAME}$",
        help_text="What stands before the names of the server's tools: a letter, then "
        "letters, digits, `_` and `-`, at most 64.",
    )


class ListTools(InProject):
    group = CommaList(
        child=serializers.CharField(max_length=LABEL_LENGTH),
        required=False,
        help_text="Only servers whose tools a request with these groups is offered; `*` is "
        "all.",
    )
    state = serializers.CharField(
        max_length=LABEL_LENGTH,
        required=False,
        allow_blank=True,
        help_text="Only servers whose tools a request with this state is offered.",
    )


class InToolProject(InProject):
    """The project of a server."""


class ToolArgumentOut(serializers.Serializer[Any]):
    """An argument that the model gives."""

    name = serializers.CharField(help_text="The name.")
    type = serializers.CharField(
        help_text="The JSON Schema type of the value; empty if it has several."
    )
    description = serializers.CharField(help_text="What the value means.")
    required = serializers.BooleanField(  # type: ignore[assignment]  # the API's name
        help_text="Whether each call needs it."
    )


class OfferedToolOut(serializers.Serializer[Any]):
    """A tool of an MCP server. Its texts are the server's own words."""

    name = serializers.CharField(help_text="The name that a run is offered.")
    server_name = serializers.CharField(help_text="The name that the server gave.")
    description = serializers.CharField(
        help_text="What the server says of the tool, on one line without orders."
    )
    arguments = ToolArgumentOut(many=True, help_text="What the tool takes.")
    asks_first = serializers.BooleanField(
        help_text="Whether a run stops before a call until a person allows it."
    )


class ServerListingOut(serializers.Serializer[Any]):
    """What an MCP server offered when it was last asked."""

    tools = OfferedToolOut(many=True, help_text="The tools, at most 100.")
    listed_at = serializers.DateTimeField(help_text="When the server was asked.")
    error = serializers.CharField(
        help_text="Why it did not answer then; the tools are those of before."
    )


class ToolDefinitionOut(AgentToolFields):
    """A server as it is defined; its headers name secrets and have none."""

    name = serializers.CharField(
        help_text="What stands before the names of the server's tools."
    )
    listing = ServerListingOut(
        allow_null=True,
        help_text="What the server offers; null if it was never asked.",
    )
    created_at = serializers.DateTimeField(help_text="When it was first defined.")
    updated_at = serializers.DateTimeField(help_text="When it was last defined.")


class AgentToolOut(WithError, ToolDefinitionOut):
    """A server, and `error`."""


class AgentToolListOut(WithError):
    tools = ToolDefinitionOut(many=True, help_text="The servers, by name.")
