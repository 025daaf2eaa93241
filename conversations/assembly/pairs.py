"""Keep tool calls and their results together in an assembled context. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from conversations.formats.message import ChatMessage, Part, content_text
from conversations.tokens import estimate_tokens

MAX_OLD_RESULT = (
    2_000  # tokens of a processed result; a larger one becomes a placeholder
)


@dataclass(frozen=True)
class ContextMessage:
    """A message of an assembled context: stored (`seq`), or a summary (`summary_id`)."""

    message: ChatMessage
    tokens: int
    seq: int | None = None
    summary_id: str = ""


def shorten_results(each: ContextMessage) -> ContextMessage:
    """Replace large results of tools by placeholders that say where they are."""
    parts = [_shorten(part, each.seq) for part in each.message.parts]
    saved = sum(
        _tokens(old) - _tokens(new)
        for old, new in zip(each.message.parts, parts, strict=True)
    )
    if not saved:
        return each
    message = replace(each.message, parts=tuple(parts))
    return replace(each, message=message, tokens=max(each.tokens - saved, 1))


def _tokens(part: Part) -> int:
    if part["type"] != "tool_result":
        return 0
    return estimate_tokens(content_text(part["content"]))


def _shorten(part: Part, seq: int | None) -> Part:
    tokens = _tokens(part)
    if tokens <= MAX_OLD_RESULT:
        return part
    kind = "error" if part["is_error"] else "result"
    where = f"[{kind} of {part['name'] or 'the tool'}, {tokens:,} tokens: read message {seq}]"
    return {**part, "content": where}


def drop_orphans(messages: Sequence[ContextMessage]) -> list[ContextMessage]:
    """Drop results without their call, and calls without their result.

    Calls of the last message may still wait for their results, and stay.
    """
    calls = {pk for each in messages for pk in each.message.call_ids}
    results = {pk for each in messages for pk in each.message.result_ids}
    kept = []
    for position, each in enumerate(messages):
        is_last = position == len(messages) - 1
        parts = tuple(
            part
            for part in each.message.parts
            if _has_partner(part, calls, results, is_last=is_last)
        )
        if parts or not each.message.parts:
            kept.append(_with_parts(each, parts))
    return kept


def _has_partner(
    part: Part, calls: set[str], results: set[str], *, is_last: bool
) -> bool:
    if part["type"] == "tool_result":
        return part["id"] in calls
    if part["type"] == "tool_call":
        return is_last or part["id"] in results
    return True


def _with_parts(each: ContextMessage, parts: tuple[Part, ...]) -> ContextMessage:
    if parts == each.message.parts:
        return each
    message = replace(each.message, parts=parts)
    saved = estimate_tokens(each.message.text) - estimate_tokens(message.text)
    return replace(each, message=message, tokens=max(each.tokens - saved, 0))
