from __future__ import annotations

from typing import Any

from rest_framework import serializers

from common.api.serializers import InProject
from mcp_server.hooks.hook_event import EventKind


class HookQuery(serializers.Serializer[Any]):
    project_id = serializers.CharField(
        max_length=200,
        required=False,
        help_text="The project's id or name; a key of one project may leave it out.",
    )
    event = serializers.CharField(
        max_length=40,
        required=False,
        default="",
        help_text="The event, for a harness whose JSON does not name it: "
        f"{', '.join(kind for kind in EventKind)}, or the harness's own name.",
    )
    opens_session = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Whether the first prompt of a session starts it, for a harness that "
        "calls no hook at the start.",
    )


class StatusQuery(InProject):
    project_id = serializers.CharField(
        max_length=200,
        required=False,
        help_text="The project's id or name; a key of one project may leave it out.",
    )


class HookStatusOut(serializers.Serializer[Any]):
    """What a harness has sent with a key."""

    harness = serializers.CharField()
    agent_id = serializers.CharField(help_text="The agent of the key.")
    key_id = serializers.UUIDField()
    last_event = serializers.CharField(help_text="The kind of the last event.")
    last_at = serializers.DateTimeField()
    events = serializers.DictField(
        child=serializers.IntegerField(), help_text="How many came of each kind."
    )
