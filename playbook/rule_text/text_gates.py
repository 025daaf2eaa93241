"""The gates: checks that a lesson must pass before the lesson enters the playbook.

The gates are described in docs/ace.md, "Gates". They are pure functions of texts and
numbers. Each gate returns a value and a threshold, which the review page shows.
`playbook.proposals.policy` decides what follows from a failed gate.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from common.text.hidden_text import is_foreign
from common.text.literals import find_literals
from common.text.prompt_injection import find_injections
from playbook.rule_text import applicability, text_patterns, unsafe_phrases

Verdict = Literal["pass", "warn", "fail"]

# Kinds of injections that an ordinary log does not contain.
COMMAND_INJECTIONS = {
    "it cancels other instructions",
    "it gives the reader another role",
    "it asks for what the reader must not give",
    "it hides from the user",
}

# The thresholds of docs/ace.md, "Gates". The cosines are the ones of
# `playbook.entries.neighbours`.
MAX_WORDS = 60
SAME_COSINE, ALIKE_COSINE = 0.90, 0.70
MAX_DROPPED = 0.40
MAX_REMOVED = 0.05
# The smallest number of words that are not in every lesson. "run migrations" has two such
# words, and "test code" has none.
MIN_SPECIFIC_WORDS = 2


@dataclass(frozen=True)
class GateResult:
    """The result of one gate.

    `message` is for the reviewer. If the gate passes, `message` is empty.
    """

    name: str
    verdict: Verdict
    value: float | str
    threshold: float | str
    message: str = ""


def check_outcome(outcome: str) -> GateResult:
    known = outcome.strip().lower() in {"success", "partial", "failure"}
    return _result(
        "outcome",
        known,
        value=outcome or "unknown",
        threshold="known",
        message="The task's outcome is unknown.",
    )


def check_supply(change: str) -> GateResult:
    """Warn about a text that leads to another package, remote, host, registry or index."""
    verdict: Verdict = "warn" if change else "pass"
    value = "changed" if change else "unchanged"
    return GateResult("supply", verdict, value, "unchanged", change)


def check_foreign(origin: str) -> GateResult:
    """Warn about a lesson whose words come from a page, a mail or another foreign text."""
    verdict: Verdict = "warn" if origin else "pass"
    value = "foreign" if origin else "own"
    return GateResult("foreign", verdict, value, "own", origin)


def check_reach(
    applies_to: Sequence[str], text: str, *, may_be_always: bool
) -> GateResult:
    """Warn about a rule that would reach tasks of which its evidence does not speak."""
    folded = text.casefold()
    unseen = [
        name
        for kind in ("tool", "path")
        for name in applicability.names_of(applies_to, kind)
        if name.rstrip("*/").casefold() not in folded
    ]
    message = ""
    if unseen:
        message = f"Its evidence does not speak of {', '.join(unseen)}."
    elif applicability.ALWAYS in applies_to and not may_be_always:
        message = "It would reach every task, and no person said so."
    value = ", ".join(applies_to)
    verdict: Verdict = "warn" if message else "pass"
    return GateResult("reach", verdict, value, "in the evidence", message)


def check_quote(evidence_quotes: Sequence[str]) -> GateResult:
    count = sum(bool(quote.strip()) for quote in evidence_quotes)
    return _result(
        "quote",
        count >= 1,
        value=count,
        threshold=1,
        message="No verbatim quote of the run supports it.",
    )


def check_grounding(content: str, quotes: Sequence[str]) -> GateResult:
    """Check that the evidence contains every literal of the lesson as a whole word."""
    evidence = "\n".join(quotes)
    known = {literal.casefold() for literal in find_literals(evidence)}
    text = _fold(evidence)
    missing = sorted(
        literal
        for literal in find_literals(content)
        if literal.casefold() not in known
        and not _contains_literal(_fold(literal), text)
    )
    return _result(
        "grounded",
        not missing,
        value=len(missing),
        threshold=0,
        message=f"The evidence does not contain {', '.join(missing[:5])}; leave it out, or "
        "write it as the evidence has it.",
    )


def check_actionable(content: str) -> GateResult:
    """Check that the lesson tells somebody to do something, or not to."""
    found = text_patterns.DIRECTIVE.search(content)
    return _result(
        "actionable",
        found is not None,
        value=found[0].strip() if found else "none",
        threshold="an instruction",
        message="It says nothing that an agent can do.",
    )


def check_atomic(content: str) -> GateResult:
    words = len(content.split())
    items = len(text_patterns.LIST_ITEM.findall(content))
    if items > 1:
        message = f"It is a list of {items} items; a lesson is one idea."
    else:
        message = f"It has {words} words; a lesson has {MAX_WORDS} at most."
    return _result(
        "atomic",
        words <= MAX_WORDS and items <= 1,
        value=words,
        threshold=MAX_WORDS,
        message=message,
    )


def check_specific(content: str) -> GateResult:
    """Check that the lesson names something that most other advice does not name."""
    words = {
        word
        for word in text_patterns.WORD.findall(content.lower())
        if word not in text_patterns.VAGUE
    }
    specific = len(words) + MIN_SPECIFIC_WORDS * bool(find_literals(content))
    return _result(
        "specific",
        specific >= MIN_SPECIFIC_WORDS,
        value=specific,
        threshold=MIN_SPECIFIC_WORDS,
        message="It would be true of every task.",
    )


def check_instruction(content: str) -> GateResult:
    """Check that the lesson does not try to instruct the model that reads it."""
    found = next((each.name for each in unsafe_phrases.find_instructions(content)), "")
    return _result(
        "instruction",
        not found,
        value=found or "none",
        threshold="none",
        message=f"It reads like an attack on the reader: {found}.",
    )


def check_danger(content: str, own_hosts: frozenset[str] = frozenset()) -> GateResult:
    """Check that following the lesson does no harm."""
    found = unsafe_phrases.find_dangers(content, own_hosts)
    kinds = dict.fromkeys(phrase.kind for phrase in found)
    return _result(
        "danger",
        not found,
        value=", ".join(kinds) or "none",
        threshold="none",
        message=unsafe_phrases.describe(found),
    )


def check_language(content: str) -> GateResult:
    """Check that the other gates can read the lesson: they read English."""
    foreign = is_foreign(content)
    return _result(
        "language",
        not foreign,
        value="other" if foreign else "en",
        threshold="en",
        message="It is not in English, which the other gates read, so a person reads it.",
    )


def check_surroundings(surroundings: Sequence[str]) -> GateResult:
    """Check that no text around a quote tries to instruct the model that reads the text.

    Text that an ordinary log contains, such as speakers and tool calls, is no attack.
    """
    found = next(
        (
            each.name
            for text in surroundings
            for each in find_injections(text)
            if each.name in COMMAND_INJECTIONS
        ),
        "",
    )
    return _result(
        "instruction",
        not found,
        value=found or "none",
        threshold="none",
        message=f"Beside its quote the run reads like an attack on the reader: {found}.",
    )


def check_one_off(content: str) -> GateResult:
    """Check that the lesson holds beyond one day, user, order or run."""
    plain = text_patterns.EXAMPLE.sub(" ", content)
    found = _first_match(text_patterns.ONE_OFFS, plain)
    if text_patterns.OCCASION.search(text_patterns.QUOTATION.sub(" ", plain)):
        found = found or "this one occasion"
    return _result(
        "one_off",
        not found,
        value=found or "none",
        threshold="none",
        message=f"It is about one case only: {found}.",
    )


def check_duplicate(similarity: float | None) -> GateResult:
    """Check the cosine to the nearest entry.

    The cosine is None if there are no neighbours.
    """
    value = round(similarity or 0.0, 4)
    if value >= SAME_COSINE:
        return GateResult(
            "duplicate", "fail", value, SAME_COSINE, "The playbook already says it."
        )
    if value >= ALIKE_COSINE:
        return GateResult(
            "duplicate", "warn", value, SAME_COSINE, "An entry is similar."
        )
    return GateResult("duplicate", "pass", value, SAME_COSINE)


def check_budget(tokens_now: int, tokens_added: int, budget: int) -> GateResult:
    """Check the token budget.

    A change that shrinks a full playbook passes.
    """
    return _result(
        "budget",
        tokens_added <= 0 or tokens_now + tokens_added <= budget,
        value=tokens_now + tokens_added,
        threshold=budget,
        message="It does not fit in the playbook's token budget.",
    )


def check_literals(before: str, after: str) -> GateResult:
    text = _fold(after)
    known = {literal.casefold() for literal in find_literals(after)}
    dropped = sorted(
        literal
        for literal in find_literals(before)
        if literal.casefold() not in known and not _contains_whole(_fold(literal), text)
    )
    return _result(
        "shrink",
        not dropped,
        value=len(dropped),
        threshold=0,
        message=f"It drops {', '.join(dropped[:5])}.",
    )


def check_words(before: str, after: str) -> GateResult:
    """Check the share of words that are dropped.

    Repeated words are counted each time.
    """
    words = text_patterns.WORD.findall(before.lower())
    kept = set(text_patterns.WORD.findall(after.lower()))
    dropped = sum(word not in kept for word in words) / len(words) if words else 0.0
    return _result(
        "shrink",
        dropped < MAX_DROPPED,
        value=round(dropped, 4),
        threshold=MAX_DROPPED,
        message=f"It drops {dropped:.0%} of the words.",
    )


def check_blast_radius(removed_or_shrunk: int, live: int) -> GateResult:
    """Check the share of entries, or of tokens, that one run removes or shrinks."""
    share = removed_or_shrunk / live if live else float(removed_or_shrunk > 0)
    return _result(
        "blast_radius",
        share <= MAX_REMOVED,
        value=round(share, 4),
        threshold=MAX_REMOVED,
        message=f"The run removes or shrinks {share:.0%} of the playbook.",
    )


def _result(
    name: str,
    passes: bool,
    *,
    value: float | str,
    threshold: float | str,
    message: str,
) -> GateResult:
    if passes:
        return GateResult(name, "pass", value, threshold)
    return GateResult(name, "fail", value, threshold, message)


def _first_match(table: Sequence[tuple[str, re.Pattern[str]]], content: str) -> str:
    return next((name for name, pattern in table if pattern.search(content)), "")


def _fold(text: str) -> str:
    return " ".join(text.casefold().split())


def _contains_literal(literal: str, text: str) -> bool:
    """Whether the text contains the literal as a whole.

    For example, 130 and 1.30 do not contain 30. A literal that ends in `_`, `-` or `/`
    is a prefix: `gift_card_1234` contains `gift_card_`.
    """
    end = "" if literal.endswith(("_", "-", "/")) else r"(?!\w|[.,]\d)"
    pattern = rf"(?<![\w])(?<!\d[.,]){re.escape(literal)}{end}"
    return re.search(pattern, text) is not None


def _contains_whole(literal: str, text: str) -> bool:
    """Whether the text contains the literal as a whole, like `_contains_literal`.

    Unlike in `_contains_literal`, `/orders/bulk` does not contain `/orders`.
    """
    longer = rf"(?<!\w){re.escape(literal)}[./]\w[\w./-]*"
    return _contains_literal(literal, re.sub(longer, " ", text))
