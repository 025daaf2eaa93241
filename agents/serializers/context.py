"""What an invocation is given, for callers that run their own loop."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from agents.serializers.answers import WithError
from agents.serializers.in_collection import InCollection
from common.api.serializers import NullIsAbsent
from conversations.models import MAX_KEY
from conversations.serializers.sessions import UserField

MAX_QUESTION = 20_000  # characters (design page 08)
MAX_STATE = 10_000
LEAST_BUDGET, MOST_BUDGET = 500, 1_000_000  # tokens; as of `agents.token_budget`


class InvocationContextRequest(InCollection, NullIsAbsent):
    """A question for which to recall memory."""

    question = serializers.CharField(
        max_length=MAX_QUESTION, help_text="What the agent is asked."
    )
    state = serializers.CharField(
        max_length=MAX_STATE,
        required=False,
        allow_blank=True,
        help_text="Where the work stands; episodes are looked for with question and state.",
    )
    user = UserField(
        help_text="Read this user's memory beside that of the project. Without it, no "
        "user's memory is read, unless the key is bound to a user.",
    )
    conversation_id = serializers.CharField(
        max_length=MAX_KEY,
        required=False,
        allow_blank=True,
        help_text="The conversation whose invocations are given; 404 if the user has none "
        "of this id.",
    )
    token_budget = serializers.IntegerField(
        min_value=LEAST_BUDGET,
        max_value=MOST_BUDGET,
        required=False,
        help_text="Tokens that memory may take; the project's `token-budget` by default.",
    )


class PromptItemOut(serializers.Serializer[Any]):
    """A thing that the prompt has."""

    kind = serializers.CharField(
        help_text="`fact`, `episode`, `memory`, `rule` or `invocation`."
    )
    id = serializers.CharField(help_text="The id of its row.")
    text = serializers.CharField(
        help_text="Its whole text; the prompt may have it cut."
    )
    at = serializers.DateTimeField(
        allow_null=True, help_text="When it happened or was learned."
    )
    why = serializers.CharField(help_text="Why it was given.")
    score = serializers.FloatField(
        allow_null=True,
        help_text="The score of the search; of a rule, its cosine to the question; null for "
        "an invocation and for other memories.",
    )


class PromptPartOut(serializers.Serializer[Any]):
    """A part of the prompt."""

    name = serializers.CharField(
        help_text="`system`, `digest`, `conversation`, `working_memory` or `question`, in "
        "this order."
    )
    text = serializers.CharField(
        help_text="The part with its heading; empty if there is nothing to give."
    )
    tokens = serializers.IntegerField(help_text="Tokens of the text, as an estimate.")
    items = PromptItemOut(many=True, help_text="What the part holds, in order.")
    cut = serializers.CharField(help_text="What had no room; empty if all had.")


class PromptMessageOut(serializers.Serializer[Any]):
    """A message of a chat."""

    role = serializers.CharField(help_text="`system` or `user`.")
    content = serializers.CharField(help_text="The text of the message.")


class GivenMemoryOut(serializers.Serializer[Any]):
    """The ids of what was given, and what failed."""

    facts = serializers.ListField(
        child=serializers.UUIDField(), help_text="Ids of facts."
    )
    episodes = serializers.ListField(
        child=serializers.UUIDField(), help_text="Ids of past tasks."
    )
    digest = serializers.ListField(
        child=serializers.UUIDField(), help_text="Ids of other memories."
    )
    entries = serializers.ListField(
        child=serializers.UUIDField(), help_text="Ids of playbook entries."
    )
    invocations = serializers.ListField(
        child=serializers.UUIDField(),
        help_text="Ids of the conversation's invocations.",
    )
    error = serializers.CharField(
        allow_null=True,
        help_text="Which sources of memory failed, and why; null if none did.",
    )


class InvocationContextOut(WithError):
    """A prompt in parts, as one text, and as messages; every fenced text is data."""

    parts = PromptPartOut(many=True, help_text="The parts of the prompt, in order.")
    system = serializers.CharField(help_text="The text of the part `system`.")
    text = serializers.CharField(help_text="All other parts as one text.")
    messages = PromptMessageOut(
        many=True, help_text="The same prompt as messages of a chat."
    )
    tokens = serializers.IntegerField(
        help_text="Tokens of the whole prompt, as an estimate."
    )
    cut = serializers.ListField(
        child=serializers.CharField(), help_text="What had no room, by part."
    )
    memory = GivenMemoryOut(help_text="What the prompt has of each tier.")
