"""Serializers of the search in sessions."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from common.api.moments import LowerBound, UpperBound
from common.api.serializers import InProject, NullIsAbsent, PlainSerializer
from conversations.models import MAX_KEY
from conversations.serializers.messages import MessageOut
from conversations.serializers.sessions import InSession, UserField
from conversations.session_search.search import DEFAULT_LIMIT, MAX_AROUND
from memories.read.search import MAX_QUERY
from memories.serializers.fields import VerbatimField
from memories.serializers.search import LaneOut


class SearchFields(NullIsAbsent):
    query = serializers.CharField(max_length=MAX_QUERY, help_text="What to search for.")
    scope = serializers.ChoiceField(
        choices=["both", "messages", "summaries"],
        default="both",
        help_text="Messages, summaries, or both.",
    )
    mode = serializers.ChoiceField(
        choices=["hybrid", "semantic", "keyword"],
        default="hybrid",
        help_text="By words, by meaning, or both.",
    )
    limit = serializers.IntegerField(
        min_value=0,
        max_value=100,
        default=DEFAULT_LIMIT,
        help_text="0 for the default of 20.",
    )
    around = serializers.IntegerField(
        min_value=0,
        max_value=MAX_AROUND,
        default=0,
        help_text="How many messages on each side of a hit to return with it.",
    )
    date_from = LowerBound(
        required=False, help_text="Only messages and summaries from this time on."
    )
    date_to = UpperBound(
        required=False, help_text="Only messages and summaries up to this time."
    )


class SearchSession(InSession, SearchFields):
    """A search in one session."""


class SearchSessions(InProject, SearchFields):
    """A search in every session that the caller may see."""

    user_id = UserField(
        help_text="Only sessions of this user; `0` for those without a user. Absent: all "
        "that you may see."
    )
    agent_id = serializers.CharField(
        max_length=255, required=False, help_text="Only sessions of this agent."
    )
    channel = serializers.CharField(
        max_length=100, required=False, help_text="Only sessions of this channel."
    )
    session = VerbatimField(
        max_length=MAX_KEY, required=False, help_text="The key or id of one session."
    )


class SessionHitOut(PlainSerializer):
    source_type = serializers.ChoiceField(
        choices=["message", "summary"], help_text="`message` or `summary`."
    )
    source_id = serializers.CharField(
        help_text="The id of the message, or the `sum_` id of the summary."
    )
    session = serializers.CharField(help_text="The key of the session.")
    session_id = serializers.UUIDField(help_text="The id of the session.")
    seq = serializers.IntegerField(
        help_text="The place of the message; of a summary, of its first message."
    )
    content = serializers.CharField(help_text="About 500 characters around the words.")
    score = serializers.FloatField(help_text="From 0 to 1.")
    timestamp = serializers.DateTimeField(
        help_text="The time of the message; of a summary, of its last message."
    )
    lanes = serializers.DictField(
        child=LaneOut(), help_text="The rank and score in each lane that found it."
    )
    around = MessageOut(
        many=True, help_text="The messages beside it, if `around` asked for them."
    )


class SessionSearchOut(serializers.Serializer[Any]):
    results = SessionHitOut(many=True, source="hits", help_text="The best first.")
    took_ms = serializers.FloatField(help_text="Milliseconds.")
    notes = serializers.ListField(
        child=serializers.CharField(), help_text="What else to know about the answer."
    )
