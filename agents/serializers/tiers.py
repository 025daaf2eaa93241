"""What the routes of facts and episodes take and answer."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from agents.serializers.answers import WithError
from agents.serializers.in_collection import InCollection
from common.api.moments import LowerBound, UpperBound
from common.api.serializers import NameField, NullIsAbsent, PlainSerializer
from conversations.models import MAX_KEY
from conversations.serializers.sessions import UserField
from memories.read.search import MAX_QUERY
from memories.serializers.fields import MetadataField, TagsField, VerbatimField
from memories.store.drafts import MAX_CONTENT, MAX_PART

MAX_TOP_K = 50
MAX_WIDTH = 16_000  # numbers of an embedding, as of pgvector's type `vector`
MAX_STEPS, MAX_STEP = 500, 5_000  # as of every memory; docs/limits.md
WRITE_USER = (
    "The user whose it is, as text or as an integer; `0` and the empty text are nobody: then "
    "it is everybody's in the project. A key that is bound to a user writes for that user."
)
READ_USER = (
    "Read this user's rows beside those of the project. A key that is bound to a user reads "
    "those of its own user."
)


class TierFields(InCollection, NullIsAbsent):
    """What a fact and an episode both have when they are stored."""

    user = UserField(help_text=WRITE_USER)
    source = VerbatimField(  # type: ignore[assignment]  # the seed's name
        max_length=MAX_KEY,
        required=False,
        allow_blank=True,
        help_text="The id of the conversation in which it was learned.",
    )
    metadata = serializers.DictField(
        required=False, help_text="An object of your own; it is not searched."
    )
    expires_at = UpperBound(
        required=False, help_text="When it stops being read; by default never."
    )


class StoreFact(TierFields):
    """A fact to store."""

    content = serializers.CharField(
        max_length=MAX_CONTENT, help_text="The fact, as one statement."
    )
    key = NameField(
        max_length=255,
        required=False,
        allow_blank=True,
        help_text="What the fact is about. A fact with the same key and user takes the "
        "place of the earlier one.",
    )
    value = serializers.JSONField(
        required=False, help_text="The value of the key, as any JSON."
    )


class StoreEpisode(TierFields):
    """A past task to store; its text is made from the four parts."""

    goal = serializers.CharField(max_length=MAX_PART, help_text="What was attempted.")
    steps = serializers.ListField(
        child=serializers.CharField(max_length=MAX_STEP),
        max_length=MAX_STEPS,
        required=False,
        help_text="The key actions, in order.",
    )
    outcome = serializers.CharField(
        max_length=MAX_PART,
        required=False,
        allow_blank=True,
        help_text="What came of it.",
    )
    lessons = serializers.CharField(
        max_length=MAX_PART,
        required=False,
        allow_blank=True,
        help_text="What to do or to avoid the next time.",
    )
    tags = TagsField(required=False, help_text="Names to filter by.")


class StoreOutcome(WithError):
    status = serializers.CharField(
        help_text="`stored`; `duplicate` if it repeats an earlier one, whose id is given; "
        "`superseded_key` if it took the place of the earlier fact of its key; `deleted`."
    )
    notes = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="What was changed on the way in, such as a masked secret.",
    )


class StoredFactOut(StoreOutcome):
    fact_id = serializers.UUIDField(help_text="The id of the fact.")


class StoredEpisodeOut(StoreOutcome):
    episode_id = serializers.UUIDField(help_text="The id of the episode.")


class TierQueryFields(InCollection, NullIsAbsent):
    """A retrieval by a query, by an embedding, or by both."""

    query = serializers.CharField(
        max_length=MAX_QUERY,
        required=False,
        allow_blank=True,
        help_text="The question, in words. Without it, send `embedding`.",
    )
    embedding = serializers.ListField(
        child=serializers.FloatField(),
        min_length=1,
        max_length=MAX_WIDTH,
        required=False,
        help_text="The vector of the question, if you made it with the service's active "
        "embedding model; another width is refused.",
    )
    user = UserField(help_text=READ_USER)
    include_embedding = serializers.BooleanField(
        default=False,
        help_text="With the vector of each hit; only for curators.",
    )


class RetrieveFacts(TierQueryFields):
    """The facts to look for."""

    top_k = serializers.IntegerField(
        min_value=1, max_value=MAX_TOP_K, default=5, help_text="The most facts."
    )


class RetrieveEpisodes(TierQueryFields):
    """The episodes to look for."""

    top_k = serializers.IntegerField(
        min_value=1, max_value=MAX_TOP_K, default=3, help_text="The most episodes."
    )


class SearchEpisodes(TierQueryFields):
    """A search of episodes with the filters and the options of `POST /search`."""

    top_k = serializers.IntegerField(
        min_value=1, max_value=100, default=10, help_text="The most episodes."
    )
    mode = serializers.ChoiceField(
        choices=["hybrid", "semantic", "keyword"],
        default="hybrid",
        help_text="By meaning, by words, or by both.",
    )
    syntax = serializers.ChoiceField(
        choices=["plain", "operators"],
        default="plain",
        help_text='With `operators`, `"quoted words"` must stand side by side and `-word` '
        "leaves out what holds the word.",
    )
    cutoff = serializers.ChoiceField(
        choices=["auto", "none"],
        default="none",
        help_text="With `auto`, episodes that do not answer the query are left out.",
    )
    min_score = serializers.FloatField(
        required=False, help_text="Leave out episodes with a lower score."
    )
    outcome = serializers.CharField(
        max_length=500,
        required=False,
        help_text="A part of the outcome, in any case of the letters.",
    )
    tags = TagsField(required=False, help_text="Only episodes with these tags.")
    tags_match = serializers.ChoiceField(
        choices=["all", "any"], default="all", help_text="Every tag, or one of them."
    )
    date_from = LowerBound(
        required=False, help_text="Only episodes stored at this time or later."
    )
    date_to = UpperBound(
        required=False, help_text="Only episodes stored at this time or earlier."
    )
    metadata = MetadataField(required=False)


class TierOut(PlainSerializer):
    """What a fact and an episode both show."""

    id = serializers.UUIDField(help_text="The id of the memory.")
    content = serializers.CharField(help_text="The text.")
    source = serializers.CharField(  # type: ignore[assignment]  # the seed's name
        source="created_in_session_id",
        help_text="The id of the conversation in which it was learned; empty if unknown.",
    )
    user = serializers.CharField(
        source="typed_scope.owner", help_text="Whose it is; empty for everybody's."
    )
    origin = serializers.CharField(
        source="source",
        help_text="Whose words these are: `agent`, `user`, `tool` and so on.",
    )
    confidence = serializers.FloatField(
        allow_null=True, help_text="From 0 to 1; null if nobody said."
    )
    timestamp = serializers.DateTimeField(
        source="created_at", help_text="When it was stored."
    )
    metadata = serializers.DictField(help_text="The caller's own object.")
    tags = serializers.ListField(child=serializers.CharField(), help_text="Its tags.")


class FactOut(TierOut):
    key = serializers.CharField(help_text="What the fact is about; may be empty.")
    value = serializers.JSONField(
        allow_null=True, help_text="The value of the key, as any JSON."
    )


class EpisodeOut(TierOut):
    goal = serializers.CharField(help_text="What was attempted.")
    steps = serializers.ListField(
        child=serializers.JSONField(), help_text="The key actions, in order."
    )
    outcome = serializers.CharField(help_text="What came of it.")
    lessons = serializers.CharField(help_text="What to do or to avoid the next time.")


class HitFields(serializers.Serializer[Any]):
    """What a hit shows beside the row."""

    score = serializers.FloatField(help_text="From 0 to 1; the best comes first.")
    relevant = serializers.BooleanField(
        help_text="Whether it answers the query, or only comes nearest to it."
    )
    snippet = serializers.CharField(
        help_text="The best passage as HTML, with the query's words in <mark>."
    )
    embedding = serializers.ListField(
        child=serializers.FloatField(),
        required=False,
        help_text="Its vector by the active model, if `include_embedding` asks for it; "
        "empty if it has none yet.",
    )


class FactHitOut(FactOut, HitFields):
    """A fact that was found."""


class EpisodeHitOut(EpisodeOut, HitFields):
    """An episode that was found."""


class FactAnswer(WithError):
    fact = FactOut(help_text="The fact.")


class EpisodeAnswer(WithError):
    episode = EpisodeOut(help_text="The episode.")


class FactsAnswer(WithError):
    facts = FactHitOut(many=True, help_text="The best first.")
    notes = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="For example that memory is off, or that a lane was left out.",
    )


class EpisodesAnswer(WithError):
    episodes = EpisodeHitOut(many=True, help_text="The best first.")
    notes = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="For example that memory is off, or that a lane was left out.",
    )
