"""Serializers of the agent's tools and their secrets."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from agents.models import AgentTool
from agents.serializers.answers import WithError
from agents.tools.call_arguments import PYTHON_TYPES
from agents.tools.definitions import DEFAULT_GROUPS, DEFAULT_STATES, TOOL_NAME
from agents.tools.http_tool import METHODS
from agents.tools.secrets import MAX_LENGTH, MIN_LENGTH
from common.api.serializers import InProject
from memories.serializers.fields import CommaList

MAX_TIMEOUT = 120.0  # seconds
MAX_ARGUMENTS = 50  # of a tool
MAX_LABELS = 50  # groups of a tool, and states
MAX_DESCRIPTION = 4_000  # characters
LABEL_LENGTH = 100  # characters of a group or a state


class ToolArgumentFields(serializers.Serializer[Any]):
    """An argument that the model gives."""

    name = serializers.CharField(
        max_length=64, help_text="Letters, digits, `_`, `.` and `-`."
    )
    type = serializers.ChoiceField(
        choices=list(PYTHON_TYPES),
        default="string",
        help_text="The JSON Schema type of the value.",
    )
    description = serializers.CharField(
        max_length=1_000,
        default="",
        allow_blank=True,
        help_text="What the value means, for the model.",
    )
    required = serializers.BooleanField(  # type: ignore[assignment]  # the API's name
        default=True, help_text="Whether each call needs it."
    )


class DefinitionFields(serializers.Serializer[Any]):
    """The request of an HTTP tool, or the address of an MCP server."""

    method = serializers.ChoiceField(
        choices=METHODS,
        required=False,
        help_text="The HTTP method of the tool; not of an MCP server.",
    )
    url = serializers.CharField(
        max_length=2_000,
        help_text="The address. `{NAME}` in the path or the query becomes an argument, "
        "percent-encoded.",
    )
    query = serializers.DictField(
        child=serializers.CharField(max_length=2_000, allow_blank=True),
        required=False,
        help_text="Parameters of the query, with `{NAME}` for arguments.",
    )
    headers = serializers.DictField(
        child=serializers.CharField(max_length=2_000),
        required=False,
        help_text="Headers, with `{secret:NAME}` for secrets.",
    )
    body = serializers.JSONField(
        required=False,
        allow_null=True,
        help_text="The JSON body, in which a text `{NAME}` becomes the argument; by default "
        "an object of the arguments that the address and the query do not name.",
    )


class AgentToolFields(serializers.Serializer[Any]):
    """The definition of a tool, without its name."""

    kind = serializers.ChoiceField(
        choices=AgentTool.ToolKind.choices,
        help_text="`http`: one request. `mcp`: the tools of an MCP server.",
    )
    description = serializers.CharField(
        max_length=MAX_DESCRIPTION,
        default="",
        allow_blank=True,
        help_text="What the tool does, for the model.",
    )
    arguments = serializers.ListField(
        child=ToolArgumentFields(),
        required=False,
        max_length=MAX_ARGUMENTS,
        help_text="The arguments of an HTTP tool; an MCP server describes its own.",
    )
    definition = DefinitionFields(help_text="What a call sends, and where.")
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
        help_text="The groups that offer the tool; `*` is every group.",
    )
    states = serializers.ListField(
        child=serializers.CharField(max_length=LABEL_LENGTH),
        default=DEFAULT_STATES,
        max_length=MAX_LABELS,
        min_length=1,
        help_text="The states that offer the tool; `*` is every state, and `undefined` a "
        "request without one.",
    )
    confirm = serializers.ChoiceField(
        choices=AgentTool.Confirm.choices,
        default=AgentTool.Confirm.ASK,
        help_text="`ask`: a run stops before a call that may change something, until a person "
        "allows it. `auto`: it does not stop.",
    )
    is_enabled = serializers.BooleanField(
        default=True, help_text="Whether runs are offered the tool."
    )


class PutTool(InProject, AgentToolFields):
    """A definition that replaces another one of the same name."""


class CreateTool(PutTool):
    name = serializers.RegexField(
        f"^{TOOL_NAME}$",
        help_text="What the model calls the tool: a letter, then letters, digits, `_` and "
        "`-`, at most 64.",
    )


class ListTools(InProject):
    group = CommaList(
        child=serializers.CharField(max_length=LABEL_LENGTH),
        required=False,
        help_text="Only tools that a request with these groups is offered; `*` is all.",
    )
    state = serializers.CharField(
        max_length=LABEL_LENGTH,
        required=False,
        allow_blank=True,
        help_text="Only tools that a request with this state is offered.",
    )


class InToolProject(InProject):
    """The project of a tool or a secret."""


class OfferedToolOut(serializers.Serializer[Any]):
    """A tool of an MCP server. Its texts are the server's own words."""

    name = serializers.CharField(help_text="The name that a run is offered.")
    server_name = serializers.CharField(help_text="The name that the server gave.")
    description = serializers.CharField(
        help_text="What the server says of the tool, on one line without orders."
    )
    arguments = ToolArgumentFields(many=True, help_text="What the tool takes.")
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
    """A tool as it is defined; its headers name secrets and have none."""

    name = serializers.CharField(help_text="What the model calls the tool.")
    asks_first = serializers.BooleanField(
        help_text="Whether a run stops before a call of an HTTP tool until a person allows "
        "it; false for an MCP server, whose tools say it themselves."
    )
    listing = ServerListingOut(
        allow_null=True,
        help_text="What an MCP server offers; null for an HTTP tool, and for a server that "
        "was never asked.",
    )
    created_at = serializers.DateTimeField(help_text="When it was first defined.")
    updated_at = serializers.DateTimeField(help_text="When it was last defined.")


class AgentToolOut(WithError, ToolDefinitionOut):
    """A tool, and `error`."""


class AgentToolListOut(WithError):
    tools = ToolDefinitionOut(many=True, help_text="The tools, by name.")


class TryTool(InProject):
    """A call of a tool by its owner."""

    arguments = serializers.DictField(
        required=False, help_text="The arguments of the call, by name."
    )
    tool = serializers.CharField(
        max_length=200,
        default="",
        allow_blank=True,
        help_text="The tool of an MCP server, by the name that the server gave.",
    )


class TriedCallOut(WithError):
    observation = serializers.CharField(
        help_text="What the model would read; `Error: …` if the tool failed."
    )
    is_error = serializers.BooleanField(help_text="Whether the tool failed.")
    asks_first = serializers.BooleanField(
        help_text="Whether a run would stop before this call until a person allows it."
    )
    took_ms = serializers.IntegerField(help_text="The milliseconds of the call.")


class PutSecret(InProject):
    value = serializers.CharField(
        min_length=MIN_LENGTH,
        max_length=MAX_LENGTH,
        trim_whitespace=False,
        help_text="The secret, in one line of ASCII. It is encrypted and never shown again.",
    )


class ToolSecretOut(WithError):
    name = serializers.CharField(help_text="The name in `{secret:NAME}` of a header.")
    updated_at = serializers.DateTimeField(help_text="When it was last stored.")
    state = serializers.ChoiceField(
        choices=["ready", "old_key", "unreadable"],
        help_text="`old_key`: a key of SECRET_KEY_FALLBACKS encrypted it, and its next use "
        "encrypts it again. `unreadable`: no key decrypts it; store it again.",
    )
    tools = serializers.ListField(
        child=serializers.CharField(), help_text="The tools whose headers name it."
    )
