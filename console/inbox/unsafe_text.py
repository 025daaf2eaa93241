"""Mark the unsafe phrases of a proposal in its text, for the person who decides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from common.text.text_spans import merge_spans
from common.text.visible import drop_invisible
from playbook.models import PlaybookDelta
from playbook.review import available
from playbook.rule_text import unsafe_phrases
from projects.own_hosts import find_own_hosts

MAX_CHARACTERS = 8_000  # of the text that the card shows


@dataclass(frozen=True)
class MarkedPart:
    """A part of a text, and whether it is unsafe."""

    text: str
    is_unsafe: bool


@dataclass(frozen=True)
class UnsafeView:
    """A text with its unsafe parts marked, and why they are unsafe, each reason once."""

    parts: Sequence[MarkedPart]
    reasons: Sequence[str]
    rest: int = 0


def mark_text(delta: PlaybookDelta) -> UnsafeView:
    """Mark the unsafe phrases of a proposal.

    Without an unsafe phrase in the text, the reasons are those of the failed gates.
    """
    text = available.proposed_text(delta)
    phrases = unsafe_phrases.find_phrases(text, find_own_hosts(delta.project))
    reasons = dict.fromkeys(phrase.message for phrase in phrases)
    for gate in delta.gates if not phrases else ():
        if gate.get("verdict") == "fail" and gate.get("message"):
            reasons[gate["message"]] = None
    spans = merge_spans((phrase.start, phrase.end) for phrase in phrases)
    parts = list(_parts(text[:MAX_CHARACTERS], spans))
    return UnsafeView(parts, list(reasons), max(len(text) - MAX_CHARACTERS, 0))


def _parts(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[MarkedPart]:
    position = 0
    for start, end in spans:
        if start > position:
            yield MarkedPart(show_hidden(text[position:start]), False)
        if words := text[start:end]:
            yield MarkedPart(show_hidden(words), True)
        position = end
    if position < len(text):
        yield MarkedPart(show_hidden(text[position:]), False)


def show_hidden(text: str) -> str:
    """Replace each character without a visible form by its number, so that it is seen."""
    if drop_invisible(text) == text:
        return text
    return "".join(c if drop_invisible(c) else f"[U+{ord(c):04X}]" for c in text)
