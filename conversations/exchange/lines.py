"""The lines of an export of sessions; each is a JSON object with a `type`.

    header
    session, its summaries, messages and invocations by seq      for each session
    agent_memory, its changes, the oldest first                  for each agent and user
    memory_switch                                                for each user with a switch
    end

A session line says how many summaries, messages and invocations follow it, and an agent
memory how many changes, so that a file that was cut is found. A file of version 1 has no
invocations and no switches.
"""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from common.api.serializers import PlainSerializer
from conversations.agent_memory.constraints import MAX_CONSTRAINTS
from conversations.invocations.record import MAX_INVOCATIONS
from conversations.messages.append import MAX_EXTERNAL_ID
from conversations.models import MAX_KEY, AgentMemoryChange, Message, Summary
from conversations.sessions.writers import MAX_WRITERS

FORMAT, VERSION, OLDEST_VERSION = "agent-memory-sessions", 2, 1


class LineText(serializers.CharField):
    """A text that is kept as it is, and may be empty."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(trim_whitespace=False, allow_blank=True, **kwargs)


def _count(**kwargs: Any) -> serializers.IntegerField:
    return serializers.IntegerField(min_value=0, max_value=2**31 - 1, **kwargs)


def _moment(*, is_optional: bool = False) -> serializers.DateTimeField:
    return serializers.DateTimeField(allow_null=is_optional)


class HeaderLine(serializers.Serializer[Any]):
    format = serializers.ChoiceField([FORMAT])
    version = serializers.IntegerField(min_value=OLDEST_VERSION, max_value=VERSION)


class SessionLine(PlainSerializer):
    key = serializers.CharField(max_length=MAX_KEY, trim_whitespace=False)
    agent_id = LineText(max_length=255)
    user_id = LineText(max_length=255)
    writers = serializers.ListField(
        child=LineText(max_length=32), max_length=MAX_WRITERS, required=False
    )
    channel = LineText(max_length=100)
    title = LineText(max_length=500)
    metadata = serializers.DictField()
    token_budget = _count(allow_null=True)
    created_at = _moment()
    last_active = _moment()
    archived_at = _moment(is_optional=True)
    ended_at = _moment(is_optional=True)
    snapshot_version = _count(allow_null=True)
    snapshot_at = _moment(is_optional=True)
    summaries = _count(source="summary_count")
    messages = _count(source="last_seq")
    has_memory = serializers.BooleanField(default=True)
    scanned_invocation = _count(default=0)
    invocations = _count(source="invocation_count", default=0)


class SummaryLine(PlainSerializer):
    """`parent` is the id of the condensed summary that replaces this one."""

    summary_id = serializers.RegexField(r"\Asum_[0-9a-f]{16}\Z")
    kind = serializers.ChoiceField(Summary.SummaryKind.values)
    depth = serializers.IntegerField(min_value=0, max_value=2**15 - 1)
    content = LineText()
    earliest_at = _moment()
    latest_at = _moment()
    first_seq = _count()
    last_seq = _count()
    message_count = _count()
    summarizer = LineText(max_length=50)
    model = LineText(max_length=300)
    parent = serializers.CharField(allow_null=True, source="parent_name")  # type: ignore[assignment]  # the column's name
    created_at = _moment()


class MessageLine(PlainSerializer):
    """`leaf` is the id of the summary that replaces this message."""

    seq = _count()
    role = serializers.ChoiceField(Message.MessageRole.values)
    parts = serializers.ListField(child=serializers.DictField())
    external_id = LineText(max_length=MAX_EXTERNAL_ID)
    metadata = serializers.DictField()
    created_at = _moment()
    hidden_at = _moment(is_optional=True)
    redacted_at = _moment(is_optional=True)
    leaf = serializers.CharField(allow_null=True, source="leaf_name")


class InvocationLine(PlainSerializer):
    """An invocation; the run that made it is not exported."""

    seq = serializers.IntegerField(min_value=1, max_value=MAX_INVOCATIONS)
    query = LineText()
    summary = LineText()
    result = LineText()
    created_at = _moment()
    hidden_at = _moment(is_optional=True)


class SwitchLine(PlainSerializer):
    """Whether agents read and write memory for a user."""

    user_id = LineText(max_length=255)
    enabled = serializers.BooleanField(source="is_enabled")


class AgentMemoryLine(PlainSerializer):
    """The notes of an agent about a user, however long; a write has a limit, a copy none."""

    user_id = LineText(max_length=255)
    agent_id = serializers.CharField(max_length=255, trim_whitespace=False)
    profile = LineText()
    soul = LineText()
    constraints = serializers.ListField(
        child=serializers.DictField(child=serializers.CharField()),
        max_length=MAX_CONSTRAINTS,
    )
    memory_version = _count(source="version")
    changes = _count(source="change_count")


class ChangeLine(PlainSerializer):
    session_key = LineText(max_length=MAX_KEY)
    scope = serializers.ChoiceField(AgentMemoryChange.ChangeScope.values)
    action = serializers.ChoiceField(AgentMemoryChange.ChangeAction.values)
    source = serializers.ChoiceField(AgentMemoryChange.ChangeSource.values)  # type: ignore[assignment]  # the column's name
    version_before = _count(allow_null=True)
    version_after = _count(allow_null=True)
    before_text = LineText()
    after_text = LineText()
    actor = LineText(max_length=200)
    created_at = _moment()


class EndLine(serializers.Serializer[Any]):
    sessions = _count()
    agent_memories = _count()


LINES: dict[str, type[serializers.Serializer[Any]]] = {
    "header": HeaderLine,
    "session": SessionLine,
    "summary": SummaryLine,
    "message": MessageLine,
    "invocation": InvocationLine,
    "memory_switch": SwitchLine,
    "agent_memory": AgentMemoryLine,
    "change": ChangeLine,
    "end": EndLine,
}
