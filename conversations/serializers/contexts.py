"""Serializers of assembled contexts, compactions, summaries and reviews."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rest_framework import serializers

from common.api.moments import LowerBound
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


class ContextMessageOut(serializers.Serializer[Any]):
    """A message of a context: `seq` for a stored one, `summary_id` for a summary."""

    role = serializers.CharField(help_text="`system`, `user`, `assistant` or `tool`.")
    content = serializers.CharField(help_text="The plain text.")
    parts = serializers.ListField(
        child=serializers.DictField(),
        help_text="The parts: text, thinking, tool_call, tool_result, attachment.",
    )
    tokens = serializers.IntegerField(
        help_text="An estimate: the UTF-8 bytes divided by four."
    )
    seq = serializers.IntegerField(
        required=False, help_text="The place of a stored message."
    )
    summary_id = serializers.CharField(
        required=False, help_text="The id of a summary, which `expand` takes."
    )


class TailOut(serializers.Serializer[Any]):
    from_seq = serializers.IntegerField(
        allow_null=True,
        help_text="The place of its first message; null without a tail.",
    )
    count = serializers.IntegerField(help_text="How many messages it has.")
    tokens = serializers.IntegerField(
        help_text="An estimate: the UTF-8 bytes divided by four."
    )


class OmissionOut(serializers.Serializer[Any]):
    from_seq = serializers.IntegerField(
        help_text="The first message that is left out; 0 for soul, profile and constraints."
    )
    to_seq = serializers.IntegerField(
        help_text="The last message that is left out; 0 for soul, profile and constraints."
    )
    tokens = serializers.IntegerField(help_text="The tokens that are saved.")
    why = serializers.CharField(help_text="The reason.")


class ContextOut(serializers.Serializer[Any]):
    """A context in order; in another format, `messages` have that format's fields."""

    messages = ContextMessageOut(many=True, help_text="The context in order.")
    tokens = serializers.IntegerField(help_text="The tokens of all messages.")
    tail = TailOut(help_text="The fresh tail, which is always whole.")
    left_out = OmissionOut(
        many=True, help_text="What did not fit or was shortened, and why."
    )
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
        min_value=1,
        max_value=MAX_BUDGET,
        required=False,
        help_text="Compare with this budget instead.",
    )


class NeedOut(serializers.Serializer[Any]):
    needed = serializers.BooleanField(
        help_text="Whether the context is too large and something can be compacted."
    )
    tokens = serializers.IntegerField(help_text="The tokens of the context now.")
    budget = serializers.IntegerField(help_text="The budget that is compared.")


class CompactRequest(InSession):
    mode = serializers.ChoiceField(
        choices=[str(mode) for mode in CompactionMode],
        default="incremental",
        help_text="`incremental`: at most one leaf and one condensed summary; `full`: until "
        "nothing changes.",
    )


class SessionCompactionOut(serializers.Serializer[Any]):
    """What a compaction did."""

    leaf_summaries_created = serializers.IntegerField(help_text="New leaves.")
    condensed_summaries_created = serializers.IntegerField(
        help_text="New condensed summaries."
    )
    messages_compacted = serializers.IntegerField(
        help_text="Messages that a new leaf replaces in the context."
    )
    tokens_before = serializers.IntegerField(
        help_text="The tokens of the context before."
    )
    tokens_after = serializers.IntegerField(
        help_text="The tokens of the context after."
    )
    duration_ms = serializers.IntegerField(help_text="Milliseconds.")


class CompactionJobOut(serializers.Serializer[Any]):
    job_id = serializers.UUIDField(
        help_text="The job, which is an earlier one if the same compaction waits already."
    )


class SummaryOut(PlainSerializer):
    id = serializers.CharField(source="summary_id", help_text="The id.")
    kind = serializers.CharField(
        help_text="`leaf` for a summary of messages, `condensed` for one of summaries."
    )
    depth = serializers.IntegerField(
        help_text="0 for a leaf; a condensed summary is one deeper than its children."
    )
    parent = serializers.CharField(  # type: ignore[assignment]  # the API's name
        source="parent_summary_id",
        allow_null=True,
        help_text="The summary that replaces it; null if none does.",
    )
    tokens = serializers.IntegerField(
        help_text="An estimate: the UTF-8 bytes divided by four."
    )
    first_seq = serializers.IntegerField(
        help_text="The place of the first message covered."
    )
    last_seq = serializers.IntegerField(
        help_text="The place of the last message covered."
    )
    message_count = serializers.IntegerField(
        help_text="The original messages that the summary covers."
    )
    earliest_at = serializers.DateTimeField(
        help_text="The time of the first message covered."
    )
    latest_at = serializers.DateTimeField(
        help_text="The time of the last message covered."
    )
    summarizer = serializers.CharField(help_text="The name of the summarizer.")


class SummariesOut(serializers.Serializer[Any]):
    """All summaries of a session, by the seq of their first message."""

    results = SummaryOut(many=True, help_text="By place, the outer ones first.")


class ExpandChildOut(PlainSerializer):
    summary_id = serializers.CharField(help_text="The `sum_` id of the summary.")
    kind = serializers.CharField(
        help_text="`leaf` for a summary of messages, `condensed` for one of summaries."
    )
    depth = serializers.IntegerField(
        help_text="0 for a leaf; a condensed summary is one deeper than its children."
    )
    content = serializers.CharField(help_text="The text of the summary.")


class DescribeOut(ExpandChildOut):
    earliest_at = serializers.DateTimeField(
        help_text="The time of the first message covered."
    )
    latest_at = serializers.DateTimeField(
        help_text="The time of the last message covered."
    )
    descendant_count = serializers.IntegerField(
        help_text="How many original messages it covers."
    )
    parent_ids = serializers.ListField(
        child=serializers.CharField(),
        help_text="The summary that replaces it, if there is one.",
    )
    child_ids = serializers.ListField(
        child=serializers.CharField(),
        help_text="Its summaries; of a leaf, the ids of its messages.",
    )


class ExpandQuery(serializers.Serializer[Any]):
    token_cap = serializers.IntegerField(
        min_value=1,
        max_value=1_000_000,
        default=DEFAULT_TOKEN_CAP,
        help_text="The most tokens of the answer; at least one item is returned.",
    )
    after_seq = serializers.IntegerField(
        min_value=0,
        default=0,
        help_text="`next_after_seq` of the answer that was cut, to go on.",
    )


class ExpandMessageOut(PlainSerializer):
    message_id = serializers.UUIDField(source="pk", help_text="The id of the message.")
    seq = serializers.IntegerField(help_text="The place of the message in its session.")
    role = serializers.CharField(help_text="`system`, `user`, `assistant` or `tool`.")
    content = serializers.CharField(source="text", help_text="The plain text.")
    created_at = serializers.DateTimeField(help_text="When it was created.")


class ExpandOut(serializers.Serializer[Any]):
    """The messages of a leaf, or the summaries that a condensed one was made of."""

    summary_id = serializers.CharField(help_text="The `sum_` id of the summary.")
    messages = ExpandMessageOut(many=True, help_text="The original messages of a leaf.")
    children = ExpandChildOut(
        many=True, help_text="The summaries that a condensed one replaces."
    )
    truncated = serializers.BooleanField(help_text="Whether the cap ended the answer.")
    next_after_seq = serializers.IntegerField(
        allow_null=True, help_text="Send it as `after_seq` to go on; null at the end."
    )


class ReviewQuery(InSession):
    since = LowerBound(
        required=False, help_text="Only what is newer, after summaries as background."
    )
    token_budget = serializers.IntegerField(
        min_value=1,
        max_value=MAX_BUDGET,
        default=DEFAULT_BUDGET,
        help_text="The most tokens of the text.",
    )


class ReviewOut(serializers.Serializer[Any]):
    text = serializers.CharField(
        allow_blank=True, help_text="The text; empty if there is nothing to review."
    )
    tokens = serializers.IntegerField(
        help_text="An estimate: the UTF-8 bytes divided by four."
    )


def summary_parents(rows: Iterable[Any]) -> list[Any]:
    """Set `parent_summary_id` of each summary; all parents are among the rows."""
    every = list(rows)
    names = {row.pk: row.summary_id for row in every}
    for row in every:
        row.parent_summary_id = names.get(row.parent_id)
    return every
