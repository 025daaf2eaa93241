"""What the routes of the agent have in common: the member `error`."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers


class AgentErrorOut(serializers.Serializer[Any]):
    """An error as seed 004 writes it."""

    type = serializers.CharField(help_text="The code of the problem.")
    message = serializers.CharField(help_text="What is wrong, and the mend.")


class WithError(serializers.Serializer[Any]):
    """Mixin of an answer: `error` is null unless the request failed."""

    error = AgentErrorOut(
        allow_null=True,
        default=None,
        help_text="Null; a problem has `{type, message}` here.",
    )
