"""Serializers of assembled contexts, compactions, summaries and reviews."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rest_framework import serializers

from common.api.serializers import NullIsAbsent, PlainSerializer
from conversations.assembly.assemble import AssembledContext, with_system
from conversations.assembly.pairs import ContextMessage
from conversations.compaction.compact import CompactionMode
from conversations.compaction.compaction_need import THRESHOLD
from conversations.compaction.context import FRESH_TAIL
from conversations.formats import convert
from conversations.messages.explore import DEFAULT_TOKEN_CAP
from conversations.messages.review import DEFAULT_BUDGET
from conversations.serializers.messages import FORMAT_HELP
from conversations.serializers.sessions import MAX_BUDGET, InSession


class AssembleRequest(InSession, NullIsAbsent):
    token_budget = serializers.IntegerField(
        min_value=1,
        max_value=MAX_BUDGET,
        required=False,
        help_text="The most tokens of the context. By default the session's budget, or "
        "else the project's.",
    )
    fresh_tail = serializers.IntegerField(
        min_value=0,
        max_value=100_000,
        default=FRESH_TAIL,
        help_text="How many of the newest messages are always whole, even beyond the "
        "budget. 0 for none.",
    )
    format = serializers.ChoiceField(
        choices=convert.FORMATS, default="messages", help_text=FORMAT_HELP
    )
    snapshot = serializers.BooleanField(
        default=False,
        help_text="Put soul, profile and constraints in front, as they were at the "
        "session's snapshot.",
    )


class ContextMessageOut(serializers.Serializer[Any]):
    """A message of a context: `seq` for a stored one, `summary_id` for a summary."""

    role = serializers.CharField()
    content = serializers.CharField()
    parts = serializers.ListField(child=serializers.DictField())
    tokens = serializers.IntegerField()
    seq = serializers.IntegerField(required=False)
    summary_id = serializers.CharField(required=False)


class TailOut(serializers.Serializer[Any]):
    from_seq = serializers.IntegerField(allow_null=True)
    count = serializers.IntegerField()
    tokens = serializers.IntegerField()


class OmissionOut(serializers.Serializer[Any]):
    from_seq = serializers.IntegerField()
    to_seq = serializers.IntegerField()
    tokens = serializers.IntegerField()
    why = serializers.CharField()


class ContextOut(serializers.Serializer[Any]):
    """A context in order; in another format, `messages` have that format's fields."""

    messages = ContextMessageOut(many=True)
    tokens = serializers.IntegerField(help_text="The tokens of all messages.")
    tail = TailOut(help_text="The fresh tail, which is always whole.")
    left_out = OmissionOut(many=True)
    system = serializers.CharField(
        required=False, help_text="With the format `anthropic`: the system prompt."
    )


def write_context(found: AssembledContext, name: str) -> dict[str, Any]:
    """Return a context as the API answers it, in one of the formats."""
    answer: dict[str, Any] = {
        "messages": [],
        "tokens": found.tokens,
        "tail": TailOut(found.tail).data,
        "left_out": OmissionOut(found.left_out, many=True).data,
    }
    if name == "anthropic":
        chat = [each.message for each in found.messages]
        rest = [message for message in chat if message.role != "system"]
        first = [message.text for message in chat if message.role == "system"]
        answer["messages"] = convert.write_messages(rest, name)
        answer["system"] = "\n\n".join(filter(None, [found.system, *first]))
    elif name == "openai":
        chat = [each.message for each in with_system(found)]
        answer["messages"] = convert.write_messages(chat, name)
    else:
        answer["messages"] = list(map(_write_message, with_system(found)))
    return answer


def _write_message(each: ContextMessage) -> dict[str, Any]:
    written: dict[str, Any] = {
        "role": each.message.role,
        "content": each.message.text,
        "parts": list(each.message.parts),
        "tokens": each.tokens,
    }
    if each.seq is not None:
        written["seq"] = each.seq
    if each.summary_id:
        written["summary_id"] = each.summary_id
    return written


class NeedQuery(InSession):
    threshold = serializers.FloatField(
        min_value=0,
        max_value=1,
        default=THRESHOLD,
        help_text="A share of the budget; a larger context needs a compaction.",
    )
    token_budget = serializers.IntegerField(
        min_value=1, max_value=MAX_BUDGET, required=False
    )


class NeedOut(serializers.Serializer[Any]):
    needed = serializers.BooleanField()
    tokens = serializers.IntegerField(help_text="The tokens of the context now.")
    budget = serializers.IntegerField()


class CompactRequest(InSession):
    mode = serializers.ChoiceField(
        choices=[str(mode) for mode in CompactionMode],
        default="incremental",
        help_text="`incremental`: at most one leaf and one condensed summary; `full`: until "
        "nothing changes.",
    )


class SessionCompactionOut(serializers.Serializer[Any]):
    """What a compaction did."""

    leaf_summaries_created = serializers.IntegerField()
    condensed_summaries_created = serializers.IntegerField()
    messages_compacted = serializers.IntegerField()
    tokens_before = serializers.IntegerField()
    tokens_after = serializers.IntegerField()
    duration_ms = serializers.IntegerField()


class CompactionJobOut(serializers.Serializer[Any]):
    job_id = serializers.UUIDField(
        allow_null=True, help_text="Null if the same compaction waits already."
    )


class SummaryOut(PlainSerializer):
    id = serializers.CharField(source="summary_id")
    kind = serializers.CharField()
    depth = serializers.IntegerField()
    parent = serializers.CharField(  # type: ignore[assignment]  # the API's name
        source="parent_summary_id", allow_null=True
    )
    tokens = serializers.IntegerField()
    first_seq = serializers.IntegerField()
    last_seq = serializers.IntegerField()
    message_count = serializers.IntegerField(
        help_text="The original messages that the summary covers."
    )
    earliest_at = serializers.DateTimeField()
    latest_at = serializers.DateTimeField()
    summarizer = serializers.CharField()


class SummariesOut(serializers.Serializer[Any]):
    """All summaries of a session, by the seq of their first message."""

    results = SummaryOut(many=True)


class DescribeOut(PlainSerializer):
    summary_id = serializers.CharField()
    kind = serializers.CharField()
    depth = serializers.IntegerField()
    content = serializers.CharField()
    earliest_at = serializers.DateTimeField()
    latest_at = serializers.DateTimeField()
    descendant_count = serializers.IntegerField()
    parent_ids = serializers.ListField(child=serializers.CharField())
    child_ids = serializers.ListField(child=serializers.CharField())


class ExpandQuery(serializers.Serializer[Any]):
    token_cap = serializers.IntegerField(
        min_value=1, max_value=1_000_000, default=DEFAULT_TOKEN_CAP
    )
    after_seq = serializers.IntegerField(
        min_value=0,
        default=0,
        help_text="`next_after_seq` of the answer that was cut, to go on.",
    )


class ExpandMessageOut(PlainSerializer):
    message_id = serializers.UUIDField(source="pk")
    seq = serializers.IntegerField()
    role = serializers.CharField()
    content = serializers.CharField(source="text")
    created_at = serializers.DateTimeField()


class ExpandChildOut(PlainSerializer):
    summary_id = serializers.CharField()
    kind = serializers.CharField()
    depth = serializers.IntegerField()
    content = serializers.CharField()


class ExpandOut(serializers.Serializer[Any]):
    """The messages of a leaf, or the summaries that a condensed one was made of."""

    summary_id = serializers.CharField()
    messages = ExpandMessageOut(many=True)
    children = ExpandChildOut(many=True)
    truncated = serializers.BooleanField()
    next_after_seq = serializers.IntegerField(allow_null=True)


class ReviewQuery(InSession):
    since = serializers.DateTimeField(
        required=False, help_text="Only what is newer, after summaries as background."
    )
    token_budget = serializers.IntegerField(
        min_value=1, max_value=MAX_BUDGET, default=DEFAULT_BUDGET
    )


class ReviewOut(serializers.Serializer[Any]):
    text = serializers.CharField(allow_blank=True)
    tokens = serializers.IntegerField()


def summary_parents(rows: Iterable[Any]) -> list[Any]:
    """Set `parent_summary_id` of each summary; all parents are among the rows."""
    every = list(rows)
    names = {row.pk: row.summary_id for row in every}
    for row in every:
        row.parent_summary_id = names.get(row.parent_id)
    return every
