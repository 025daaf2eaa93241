"""Ask the language model for facts, and keep those that the texts prove and the gate lets pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel

from agents.learning import model_question
from agents.run_texts import SourceText
from agents.tiers.fact_gate import FactRefusal
from agents.tiers.fact_proof import CheckedFact, prove_fact
from inference.language.fence import FencedText
from projects.models import Project

MAX_TOKENS = 2_000  # of an answer: more than ten facts with quotes need
MAX_FACTS = 10  # of one question


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
    fact = prove_fact(answer.content, answer.quote, texts)
    if isinstance(fact, FactRefusal):
        found.refused[fact.value] += 1
    elif fact.quote_hash in {known.quote_hash for known in found.facts}:
        found.refused["repeated"] += 1
    elif len(found.facts) == MAX_FACTS:
        found.refused["too_many"] += 1
    else:
        found.facts.append(fact)
