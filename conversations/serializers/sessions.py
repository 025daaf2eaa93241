"""Serializers of sessions, and of the requests that make and change them."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from common.api.serializers import InProject, NullIsAbsent, PlainSerializer
from conversations.models import MAX_KEY
from conversations.sessions.lookup import read_user_id
from memories.serializers.fields import VerbatimField

MAX_BUDGET = 100_000_000
USER_HELP = (
    'The user, as text or as an integer; `0` and `""` are the anonymous user. Needed only '
    "where you may see two sessions of one key."
)


@extend_schema_field({"oneOf": [{"type": "string"}, {"type": "integer"}]})
class UserField(serializers.CharField):
    """A user id; an integer is kept as its decimal text, and 0 is the anonymous user."""

    def __init__(self, **kwargs: Any) -> None:
        defaults = {"max_length": 255, "trim_whitespace": False, "allow_blank": True}
        super().__init__(**defaults | {"required": False} | kwargs)

    def to_internal_value(self, data: Any) -> str:
        return read_user_id(super().to_internal_value(data))


class InSession(InProject):
    """Mixin for a body or a query about one session."""

    user_id = UserField(help_text=USER_HELP)


class SessionFields(NullIsAbsent):
    agent_id = serializers.CharField(
        max_length=255,
        required=False,
        help_text="The agent of the session; by default the name of the key. It never "
        "changes.",
    )
    channel = serializers.CharField(
        max_length=100,
        required=False,
        allow_blank=True,
        help_text="Where the session comes from, such as `cli`.",
    )
    title = serializers.CharField(
        max_length=500,
        required=False,
        allow_blank=True,
        help_text="By default made from the first message of the user.",
    )
    metadata = serializers.DictField(
        required=False, help_text="An object of your own; it is not searched."
    )
    token_budget = serializers.IntegerField(
        min_value=1,
        max_value=MAX_BUDGET,
        required=False,
        help_text="Tokens of an assembled context; by default the project's setting.",
    )


class BootstrapSession(InProject, SessionFields):
    """A session to make, or to find if it exists already."""

    key = VerbatimField(
        max_length=MAX_KEY,
        help_text="Your own name of the session, as in `default:cli:42:main`. It is unique "
        "with the user, and is never trimmed.",
    )
    user_id = UserField(help_text="The user of the session; it never changes.")


class UpdateSession(InSession, NullIsAbsent):
    null_fields = frozenset({"token_budget"})

    title = serializers.CharField(
        max_length=500, required=False, allow_blank=True, help_text="The new title."
    )
    metadata = serializers.DictField(
        required=False, help_text="Merged; a key whose value is null is removed."
    )
    token_budget = serializers.IntegerField(
        min_value=1,
        max_value=MAX_BUDGET,
        required=False,
        allow_null=True,
        help_text="The tokens of an assembled context; null for the project's.",
    )
    archived = serializers.BooleanField(
        required=False, help_text="True archives the session, false restores it."
    )


class ListSessions(InProject):
    agent_id = serializers.CharField(
        max_length=255, required=False, help_text="Only sessions of this agent."
    )
    user_id = UserField(
        help_text="Only sessions of this user; `0` for those without a user. Absent: all "
        "that you may see."
    )
    channel = serializers.CharField(
        max_length=100, required=False, help_text="Only sessions of this channel."
    )
    key = VerbatimField(
        max_length=MAX_KEY, required=False, help_text="Only the session with this key."
    )
    include_archived = serializers.BooleanField(
        default=False, help_text="Archived sessions too."
    )
    q = serializers.CharField(
        max_length=200, required=False, help_text="A part of the title or of the key."
    )
    limit = serializers.IntegerField(
        min_value=0,
        max_value=1_000,
        default=20,
        help_text="0 for pages of a thousand, to read all.",
    )
    offset = serializers.IntegerField(
        min_value=0,
        max_value=10**6,
        default=0,
        help_text="How many sessions to leave out; a `cursor` is steadier.",
    )
    cursor = serializers.CharField(
        required=False, help_text="From `next` of another page."
    )


class SessionOut(PlainSerializer):
    id = serializers.UUIDField(help_text="The id of the row.")
    key = serializers.CharField(help_text="The caller's own name of the session.")
    agent_id = serializers.CharField(help_text="The agent.")
    user_id = serializers.CharField(help_text="Empty for the anonymous user.")
    channel = serializers.CharField(help_text="Where the session comes from.")
    title = serializers.CharField(help_text="The title.")
    metadata = serializers.DictField(
        help_text="What the caller or a format says beside the words."
    )
    token_budget = serializers.IntegerField(
        allow_null=True,
        help_text="The tokens of an assembled context; null for the project's.",
    )
    created_at = serializers.DateTimeField(help_text="When the session was made.")
    last_active = serializers.DateTimeField(help_text="The time of its newest message.")
    archived = serializers.BooleanField(
        source="is_archived", help_text="Whether it is archived."
    )
    ended_at = serializers.DateTimeField(
        allow_null=True, help_text="When it was ended; null while it goes on."
    )


class SessionPage(serializers.Serializer[Any]):
    """A page of sessions, the last active first."""

    results = SessionOut(many=True, help_text="The last active first.")
    next = serializers.URLField(
        allow_null=True, help_text="The URL of the next page; null at the end."
    )
    previous = serializers.URLField(
        allow_null=True, help_text="The URL of the page before; null at the beginning."
    )


class ForkSession(InSession):
    seq = serializers.IntegerField(
        min_value=0, help_text="The last message that the new session has."
    )
    key = VerbatimField(max_length=MAX_KEY, help_text="The key of the new session.")


class ClaimSession(InProject):
    user_id = UserField(
        required=True, allow_blank=False, help_text="The user that gets the session."
    )


class SessionQuery(InSession):
    """The query of a route that reads one session."""


class StatsOut(PlainSerializer):
    """Sums over the messages of a session; zeros for an unknown session."""

    message_count = serializers.IntegerField(help_text="Messages that no undo hid.")
    token_count = serializers.IntegerField(help_text="The tokens of these messages.")
    summary_count = serializers.IntegerField(help_text="Summaries.")
    oldest_at = serializers.DateTimeField(
        allow_null=True, help_text="The time of the first message."
    )
    newest_at = serializers.DateTimeField(
        allow_null=True, help_text="The time of the last message."
    )


class CapabilitiesOut(serializers.Serializer[Any]):
    store = serializers.CharField(help_text="The store of the project.")
    capabilities = serializers.ListField(
        child=serializers.CharField(),
        help_text="The names of what the project's store can do.",
    )
