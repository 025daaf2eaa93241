"""Serializers of profile, soul, constraints, changes and snapshots."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from common.api.serializers import InProject, PlainSerializer
from conversations.agent_memory import constraints, texts
from conversations.agent_memory.changelog import MAX_CHANGES, OWN_SCOPES
from conversations.models import MAX_KEY, AgentMemoryChange
from conversations.serializers.sessions import UserField
from conversations.sources import SOURCES
from memories.serializers.fields import VerbatimField

MAX_VERSION = 2**31 - 1


class PairFields(InProject):
    """Mixin that names the user and the agent, by themselves or by a session of theirs."""

    user_id = UserField(help_text="The user; absent or `0` is the anonymous one.")
    agent_id = serializers.CharField(
        max_length=255,
        required=False,
        help_text="The agent. A key bound to an agent, and a session, name it too.",
    )


class ReadFields(PairFields):
    version = serializers.IntegerField(
        required=False,
        min_value=-MAX_VERSION,
        max_value=MAX_VERSION,
        help_text="Read the text as it was at this version; 0 or less is now.",
    )
    session = VerbatimField(
        max_length=MAX_KEY,
        required=False,
        help_text="Read at the snapshot of this session (its key or id).",
    )


class WriteFields(PairFields):
    session = VerbatimField(
        max_length=MAX_KEY,
        required=False,
        help_text="The session that writes; it sees the new text at once.",
    )


class SourceFields(serializers.Serializer[Any]):
    source = serializers.ChoiceField(  # type: ignore[assignment]  # the API's name
        choices=SOURCES,
        default="agent",
        help_text="Whose word it is. `user` is for a signed-in person, a key bound to the "
        "user, and curators; `system` is for owners.",
    )


class SetText(WriteFields, SourceFields):
    text = serializers.CharField(
        max_length=texts.MAX_CHARACTERS,
        allow_blank=True,
        trim_whitespace=False,
        help_text="The whole new text; it replaces the old one.",
    )


class TextOut(serializers.Serializer[Any]):
    text = serializers.CharField(
        allow_blank=True, help_text="The text; empty if there is none."
    )
    version = serializers.IntegerField(
        help_text="The version of the agent memory, which every write raises."
    )


class AddConstraint(WriteFields):
    text = serializers.CharField(
        max_length=constraints.MAX_CHARACTERS,
        help_text="What the user forbids or demands.",
    )
    source = serializers.ChoiceField(  # type: ignore[assignment]  # the API's name
        choices=SOURCES, default="user", help_text="Only `user` adds a constraint."
    )


class RemoveConstraint(WriteFields):
    source = serializers.ChoiceField(  # type: ignore[assignment]  # the API's name
        choices=SOURCES, default="user", help_text="Only `user` removes a constraint."
    )


class ConstraintOut(serializers.Serializer[Any]):
    id = serializers.CharField(help_text="The id.")
    text = serializers.CharField(help_text="What the user forbids or demands.")
    created_at = serializers.DateTimeField(help_text="When it was created.")


class ConstraintsOut(serializers.Serializer[Any]):
    constraints = ConstraintOut(
        many=True, help_text="All constraints, the oldest first."
    )
    version = serializers.IntegerField(help_text="The version of the agent memory.")


class ListChanges(PairFields):
    scope = serializers.ChoiceField(
        choices=AgentMemoryChange.ChangeScope.values,
        required=False,
        help_text="Only changes of this scope.",
    )
    limit = serializers.IntegerField(
        min_value=1, max_value=MAX_CHANGES, default=10, help_text="The most rows."
    )


class AddChange(WriteFields, SourceFields):
    scope = serializers.ChoiceField(
        choices=[str(scope) for scope in OWN_SCOPES],
        help_text="What the entry is about.",
    )
    action = serializers.ChoiceField(
        choices=AgentMemoryChange.ChangeAction.values, help_text="What was done."
    )
    before_text = serializers.CharField(
        max_length=texts.MAX_CHARACTERS,
        required=False,
        allow_blank=True,
        help_text="The text before.",
    )
    after_text = serializers.CharField(
        max_length=texts.MAX_CHARACTERS,
        required=False,
        allow_blank=True,
        help_text="The text after.",
    )


class AgentMemoryChangeOut(PlainSerializer):
    id = serializers.UUIDField(help_text="The id.")
    user_id = serializers.CharField(help_text="The user; empty for the anonymous one.")
    agent_id = serializers.CharField(help_text="The agent.")
    scope = serializers.CharField(
        help_text="`profile`, `soul`, `constraint`, `skill` or `compaction`."
    )
    action = serializers.CharField(
        help_text="`create`, `update`, `delete` or `compact`."
    )
    source = serializers.CharField(
        help_text="Whose word it is: `user`, `agent`, `reflect` or `system`."
    )  # type: ignore[assignment]  # the API's name
    session = serializers.CharField(
        source="session_key", help_text="The key of the session; empty for none."
    )
    version_before = serializers.IntegerField(
        allow_null=True,
        help_text="The version before; null for an entry that raises none.",
    )
    version_after = serializers.IntegerField(
        allow_null=True,
        help_text="The version after; null for an entry that raises none.",
    )
    before_text = serializers.CharField(
        help_text="The text before; of constraints, their list as JSON."
    )
    after_text = serializers.CharField(
        help_text="The text after; of constraints, their list as JSON."
    )
    actor = serializers.CharField(help_text="The key or the person that wrote.")
    created_at = serializers.DateTimeField(help_text="When it was created.")


class ChangesOut(serializers.Serializer[Any]):
    """The changes of an agent memory, the newest first."""

    results = AgentMemoryChangeOut(many=True, help_text="The newest first.")


class RollBack(WriteFields):
    scope = serializers.ChoiceField(
        choices=texts.SCOPES, help_text="The text to roll back."
    )
    version = serializers.IntegerField(
        min_value=-MAX_VERSION,
        max_value=MAX_VERSION,
        help_text="A version among the last hundred changes of this text.",
    )


class SnapshotOut(serializers.Serializer[Any]):
    session = serializers.CharField(help_text="The key of the session.")
    user_id = serializers.CharField(help_text="The user; empty for the anonymous one.")
    agent_id = serializers.CharField(help_text="The agent.")
    version = serializers.IntegerField(help_text="The version that the session sees.")
    updated_at = serializers.DateTimeField(help_text="When it was frozen or advanced.")
