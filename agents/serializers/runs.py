"""The serializers of the agent's requests, answers and runs."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from agents.runs.agent_request import DEFAULT_GROUP, MAX_HISTORY, MAX_QUESTION
from agents.serializers.answers import WithError
from agents.serializers.in_collection import InCollection
from conversations.serializers.sessions import UserField

MAX_THOUGHT = 20_000  # characters of a field of a step
MAX_STATE = 2_000  # characters


class StepIn(serializers.Serializer[Any]):
    """A step that the caller has run already (seed 004, AgentStep)."""

    thought = serializers.CharField(
        allow_blank=True, default="", max_length=MAX_THOUGHT, help_text="Why."
    )
    action = serializers.CharField(max_length=200, help_text="The tool's name.")
    arguments = serializers.DictField(default=dict, help_text="By name.")
    observation = serializers.CharField(
        allow_blank=True,
        default="",
        max_length=MAX_THOUGHT,
        help_text="What the tool answered.",
    )


class AgentRequestIn(InCollection):
    """One question to the agent (seed 004, AgentRequest)."""

    question = serializers.CharField(
        max_length=MAX_QUESTION, help_text="What the agent has to answer or to do."
    )
    state = serializers.CharField(
        allow_blank=True,
        default="",
        max_length=MAX_STATE,
        help_text="The state that chooses tools and helps to find episodes.",
    )
    group = serializers.ListField(
        child=serializers.CharField(max_length=64),
        default=list(DEFAULT_GROUP),
        max_length=50,
        help_text="The groups of tools to offer; `*` is all.",
    )
    history = serializers.ListField(
        child=StepIn(),
        default=list,
        max_length=MAX_HISTORY,
        help_text="Steps that the caller has run; they count as iterations.",
    )
    user = UserField(
        default="",
        help_text="Whose memory is read and written; empty or 0 for the anonymous user.",
    )
    conversation_id = serializers.CharField(
        allow_blank=True,
        default="",
        max_length=200,
        trim_whitespace=False,
        help_text="The conversation that the question belongs to; the key of its session.",
    )
    enable_memory = serializers.BooleanField(
        default=False, help_text="Whether memory is read and written."
    )
    streaming = serializers.BooleanField(
        default=False, help_text="Whether to answer with server-sent events."
    )
    max_iterations = serializers.IntegerField(
        min_value=1,
        max_value=100,
        allow_null=True,
        default=None,
        help_text="The most steps; null is the project's setting.",
    )
    task = serializers.BooleanField(
        default=False,
        help_text="Whether to record an episode, however few tools are called.",
    )


class StepOut(serializers.Serializer[Any]):
    """A step that the agent took."""

    thought = serializers.CharField(help_text="Why.")
    action = serializers.CharField(help_text="The tool's name.")
    arguments = serializers.DictField(help_text="By name.")
    observation = serializers.CharField(help_text="What the tool answered.")
    is_error = serializers.BooleanField(help_text="Whether the tool failed.")
    is_history = serializers.BooleanField(help_text="Whether the caller sent it.")
    call_id = serializers.CharField(help_text="The endpoint's id of the call, if any.")
    took_ms = serializers.IntegerField(help_text="Milliseconds of the call.")


class TokensOut(serializers.Serializer[Any]):
    """The tokens of all calls of the model."""

    prompt = serializers.IntegerField(help_text="Read.")
    answer = serializers.IntegerField(help_text="Written.")


class RunMemoryOut(serializers.Serializer[Any]):
    """The ids of what the run was given from memory."""

    facts = serializers.ListField(
        child=serializers.CharField(),
        help_text="Facts, the most relevant first, then those that RetrieveFacts found.",
    )
    episodes = serializers.ListField(
        child=serializers.CharField(),
        help_text="Episodes, the most similar first, then those that RecallEpisodes found.",
    )
    entries = serializers.ListField(
        child=serializers.CharField(), help_text="Rules of the playbook."
    )
    conversation = serializers.ListField(
        child=serializers.CharField(), help_text="Earlier invocations, in their order."
    )
    digest = serializers.ListField(
        child=serializers.CharField(), help_text="The memories of the digest."
    )
    error = serializers.CharField(
        allow_null=True, help_text="Which source of memory failed; null if none did."
    )


class PendingCallOut(serializers.Serializer[Any]):
    """A call that waits for a person."""

    thought = serializers.CharField(help_text="Why the agent wants it.")
    action = serializers.CharField(help_text="The tool's name.")
    arguments = serializers.DictField(help_text="By name.")
    call_id = serializers.CharField(help_text="The endpoint's id of the call, if any.")


class AgentResponseOut(WithError):
    """What the agent did and answered (seed 004, AgentResponse)."""

    run_id = serializers.UUIDField(help_text="The run: `GET /agents/runs/{id}`.")
    status = serializers.CharField(
        help_text="`done`, `failed`, `confirming`, `queued`, `running`, `cancelled` or "
        "`interrupted`."
    )
    steps = StepOut(many=True, help_text="The steps, without those that you sent.")
    answer = serializers.CharField(allow_null=True, help_text="The final answer.")
    iterations = serializers.IntegerField(help_text="Calls of the model.")
    tokens = TokensOut(help_text="Tokens of the model.")
    memory = RunMemoryOut(help_text="What was given from memory.")
    pending_call = PendingCallOut(
        allow_null=True, help_text="The call to confirm; null if none waits."
    )


class RunRequestOut(serializers.Serializer[Any]):
    """The request of a run."""

    question = serializers.CharField(help_text="What was asked.")
    state = serializers.CharField(help_text="The state.")
    group = serializers.ListField(
        child=serializers.CharField(), help_text="The groups of tools."
    )
    user = serializers.CharField(help_text="The user; empty for the anonymous one.")
    conversation_id = serializers.CharField(help_text="The conversation, if any.")
    enable_memory = serializers.BooleanField(help_text="Whether memory was asked for.")
    streaming = serializers.BooleanField(help_text="Whether it was streamed.")
    max_iterations = serializers.IntegerField(
        allow_null=True, help_text="The most steps; null is the project's setting."
    )
    task = serializers.BooleanField(help_text="Whether it was called a task.")


class AgentRunOut(AgentResponseOut):
    """A run with its request, its times, and what it taught."""

    request = RunRequestOut(help_text="What was asked.")
    agent_id = serializers.CharField(help_text="The agent.")
    learned = serializers.DictField(
        help_text="What was stored after the answer: `{invocation, facts, episode, "
        "refused}`; until the job at the end has run, the facts of StoreFact at most."
    )
    created_at = serializers.DateTimeField(help_text="When it began.")
    ended_at = serializers.DateTimeField(
        allow_null=True, help_text="When it ended; null while it goes on."
    )


class RunListQuery(InCollection):
    user = UserField(required=False, help_text="Only runs of this user.")
    conversation_id = serializers.CharField(
        required=False,
        max_length=200,
        trim_whitespace=False,
        help_text="Only runs of this conversation.",
    )


class ConfirmIn(serializers.Serializer[Any]):
    """What a person says of a call that waits."""

    allow = serializers.BooleanField(help_text="Whether the tool may act.")
    streaming = serializers.BooleanField(
        default=False, help_text="Whether to stream the rest of the run."
    )
