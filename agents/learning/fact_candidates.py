"""Ask the language model for facts, and keep those that the texts prove and the gate lets pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel

from agents.learning import model_question, shared_words
from agents.tiers import personal_data_check
from agents.tiers.fact_gate import check_fact
from common.text import plain_text, secrets
from common.text.prompt_injection import find_injections
from common.text.quote import visible_text
from inference.language.fence import FencedText
from memories.models import Memory
from projects.models import Project

MAX_TOKENS = 2_000  # of an answer: more than ten facts with quotes need
MAX_FACTS = 10  # of one question
MIN_QUOTE = 8  # characters; a shorter quote is in every text and proves nothing
# The share of a fact's key words that its source must have.
MIN_SHARE = 0.5
USER, TOOL = Memory.Source.USER.value, Memory.Source.TOOL.value
# A tool may be wrong, or speak for somebody else; nobody has confirmed it.
CONFIDENCE = {USER: 0.8, TOOL: 0.4}


@dataclass(frozen=True)
class SourceText:
    """A text in which facts are looked for, and whose words it has: `user` or `tool`."""

    name: str
    text: str
    source: str


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
        return plain_text.similarity_hash(self.quote)


@dataclass
class FoundFacts:
    facts: list[CheckedFact] = field(default_factory=list)
    # How many candidates were refused, by reason.
    refused: Counter[str] = field(default_factory=Counter)


class FoundFact(BaseModel):
    content: str
    quote: str


class FactList(BaseModel):
    facts: list[FoundFact]


def find_facts(project: Project, texts: Sequence[SourceText]) -> FoundFacts:
    """Ask the model for facts and check each of them. Raises InferenceError."""
    fenced = [FencedText(each.name, each.text) for each in texts if each.text.strip()]
    answer = model_question.ask(
        project, "facts", fenced, FactList, max_tokens=MAX_TOKENS
    )
    found = FoundFacts()
    for fact in answer.facts:
        _check(fact, texts, found)
    return found


def _check(answer: FoundFact, texts: Sequence[SourceText], found: FoundFacts) -> None:
    content, quote = _fold(answer.content), _fold(answer.quote)
    source = _source_of(content, quote, texts)
    reason = _refusal(content, quote, source)
    if reason:
        found.refused[reason] += 1
        return
    fact = CheckedFact(content, quote, source)
    if fact.quote_hash in {known.quote_hash for known in found.facts}:
        found.refused["repeated"] += 1
    elif len(found.facts) == MAX_FACTS:
        found.refused["too_many"] += 1
    else:
        found.facts.append(fact)


def _refusal(content: str, quote: str, source: str) -> str:
    """Return why a fact is refused, or nothing. Its quote is kept too, so it is checked too."""
    if source in ("no_quote", "ungrounded"):
        return source
    if reason := check_fact(content, is_users_word=source == USER):
        return reason.value
    if not secrets.is_clean(quote):
        return "secret"
    if kind := personal_data_check.find_personal_data(quote):
        return kind.value
    return "instruction" if source == TOOL and find_injections(quote) else ""


def _source_of(content: str, quote: str, texts: Sequence[SourceText]) -> str:
    """Return whose words prove a fact, or why they do not.

    The words of the fact must be in the text that is quoted, or else a tool could have the
    model say something else under the user's quote.
    """
    quoting = list(_texts_with(quote, texts))
    if not quoting:
        return "no_quote"
    proving = {
        each.source
        for each in quoting
        if shared_words.share(content, _around(quote, each)) >= MIN_SHARE
    }
    if USER in proving:
        return USER
    return TOOL if TOOL in proving else "ungrounded"


def _texts_with(quote: str, texts: Sequence[SourceText]) -> Iterator[SourceText]:
    if len(quote) < MIN_QUOTE:
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
