"""Check that the words of a user or of a tool prove a fact that a model names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agents.run_texts import TOOL, USER, SourceText
from agents.tiers import personal_data_check, shared_words
from agents.tiers.fact_gate import FactRefusal, check_fact
from common.text import plain_text, same_text, secrets
from common.text.prompt_injection import find_injections
from common.text.quote import visible_text
from memories.models import Memory

MIN_QUOTE = 8  # characters; a shorter quote is in every text and proves nothing
# The share of a fact's key words that its source must have.
MIN_SHARE = 0.5
# A tool may be wrong, or speak for somebody else; nobody has confirmed it.
AGENT = Memory.Source.AGENT.value
# Nobody but the agent itself says what has no quote.
CONFIDENCE = {USER: 0.8, TOOL: 0.4, AGENT: 0.2}


@dataclass(frozen=True)
class CheckedFact:
    """A fact whose quote is in a text of its source."""

    content: str
    quote: str
    source: str

    @property
    def confidence(self) -> float:
        return CONFIDENCE[self.source]

    @property
    def quote_hash(self) -> str:
        """Identify the quote; a run stores one fact of each."""
        return same_text.hash_text(self.quote)


def prove_fact(
    content: str, quote: str, texts: Sequence[SourceText]
) -> CheckedFact | FactRefusal:
    """Return the fact with the source that its quote proves, or why it is refused.

    The quote must be verbatim, except for white space. It is kept too, so it is checked too.
    """
    content, quote = _fold(content), _fold(quote)
    source = _source_of(content, quote, texts)
    if isinstance(source, FactRefusal):
        return source
    if reason := check_fact(content, is_users_word=source == USER):
        return reason
    if not secrets.is_clean(quote):
        return FactRefusal.SECRET
    if kind := personal_data_check.find_personal_data(quote):
        return FactRefusal(kind.value)
    if source == TOOL and find_injections(quote):
        return FactRefusal.INSTRUCTION
    return CheckedFact(content, quote, source)


def check_unproven(content: str) -> CheckedFact | FactRefusal:
    """Return a fact that only the agent says, or why it is refused."""
    content = _fold(content)
    return check_fact(content) or CheckedFact(content, "", AGENT)


def _source_of(
    content: str, quote: str, texts: Sequence[SourceText]
) -> str | FactRefusal:
    """Return whose words prove a fact, or why they do not.

    The words of the fact must be in the text that is quoted, or else a tool could have the
    model say something else under the user's quote.
    """
    quoting = list(_texts_with(quote, texts))
    if not quoting:
        return FactRefusal.NO_QUOTE
    proving = {
        each.source
        for each in quoting
        if shared_words.share(content, _around(quote, each)) >= MIN_SHARE
    }
    if USER in proving:
        return USER
    return TOOL if TOOL in proving else FactRefusal.UNGROUNDED


def _texts_with(quote: str, texts: Sequence[SourceText]) -> Iterator[SourceText]:
    if plain_text.measure(quote) < MIN_QUOTE:
        return
    for each in texts:
        if quote in _fold(each.text):
            yield each


def _around(quote: str, text: SourceText) -> str:
    """Return the user's whole text; of a tool's text, which may be long, the quote alone."""
    return text.text if text.source == USER else quote


def _fold(text: str) -> str:
    """Return a text as the model saw it, with one space for each run of white space."""
    return " ".join(visible_text(text).split())
