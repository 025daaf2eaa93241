"""The serializer of what is known about a user."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from common.api.serializers import InProject
from conversations.serializers.agent_memory import ConstraintOut
from conversations.serializers.sessions import SessionOut
from memories.serializers.memories import MemoryOut


class AgentNotesOut(serializers.Serializer[Any]):
    """What one agent keeps about the user."""

    agent_id = serializers.CharField(help_text="The agent.")
    profile = serializers.CharField(help_text="What the agent notes about the user.")
    soul = serializers.CharField(
        help_text="The character that the agent has for the user."
    )
    constraints = ConstraintOut(
        many=True, help_text="What the user forbids or demands."
    )
    version = serializers.IntegerField(help_text="The number of changes.")
    updated_at = serializers.DateTimeField(help_text="The last change.")


class PersonCounts(serializers.Serializer[Any]):
    """How many rows there are, beyond those that the answer has."""

    agent_memories = serializers.IntegerField(help_text="Agents that keep notes.")
    changes = serializers.IntegerField(help_text="Rows of the changelog.")
    sessions = serializers.IntegerField(help_text="Sessions, archived ones too.")
    messages = serializers.IntegerField(help_text="Messages that no undo hid.")
    memories = serializers.IntegerField(help_text="Current memories of the user.")


class PersonOut(serializers.Serializer[Any]):
    """What is known about a user; the lists hold at most 1,000 rows, the newest first."""

    user_id = serializers.CharField(help_text="The user; empty for the anonymous one.")
    enabled = serializers.BooleanField(
        source="is_memory_on",
        help_text="Whether agents read and write memory for the user.",
    )
    agent_memories = AgentNotesOut(many=True, help_text="By agent.")
    sessions = SessionOut(many=True, help_text="The last active first.")
    memories = MemoryOut(many=True, help_text="Current memories, the newest first.")
    counts = PersonCounts(help_text="The full numbers.")


class SwitchMemory(InProject):
    """Whether agents read and write memory for a user."""

    enabled = serializers.BooleanField(help_text="False turns it off, true on.")


class SwitchOut(serializers.Serializer[Any]):
    user_id = serializers.CharField(help_text="The user; empty for the anonymous one.")
    enabled = serializers.BooleanField(help_text="Whether it is on now.")
