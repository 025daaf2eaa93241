"""What a lesson must be before it may enter the playbook (docs/ace.md, "Gates").

Pure functions of texts and numbers. Each answers with a value and a threshold, so that
the review can show why; whether a person may still let it pass is the policy's affair.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from common.text import prompt_injection
from common.text.literals import find_literals
from playbook import wording

Verdict = Literal["pass", "warn", "fail"]

# Names of injections that no log has by itself.
COMMANDS = {
    "it cancels other instructions",
    "it gives the reader another role",
    "it asks for what the reader must not give",
    "it hides from the user",
}

# docs/ace.md, "Gates"; SAME and ALIKE are the curator's bands.
MOST_WORDS = 60
SAME, ALIKE = 0.90, 0.70
MOST_DROPPED = 0.40
MOST_REMOVED = 0.05
# Two words that are not in every lesson: "run migrations" says something, "test code"
# does not.
FEWEST_TELLING = 2


@dataclass(frozen=True)
class Gate:
    """`message` is a sentence for the person who reviews, empty on a pass."""

    name: str
    verdict: Verdict
    value: float | str
    threshold: float | str
    message: str = ""


def outcome_known(outcome: str) -> Gate:
    known = outcome.strip().lower() in {"success", "partial", "failure"}
    return _gate(
        "outcome",
        known,
        value=outcome or "unknown",
        threshold="known",
        message="The task's outcome is unknown.",
    )


def has_quote(evidence_quotes: Sequence[str]) -> Gate:
    count = sum(bool(quote.strip()) for quote in evidence_quotes)
    return _gate(
        "quote",
        count >= 1,
        value=count,
        threshold=1,
        message="No verbatim quote of the run supports it.",
    )


def grounded(content: str, quotes: Sequence[str]) -> Gate:
    """Every literal of the lesson occurs in the evidence, as a whole."""
    evidence = "\n".join(quotes)
    known = {literal.casefold() for literal in find_literals(evidence)}
    folded = _folded(evidence)
    missing = sorted(
        literal
        for literal in find_literals(content)
        if literal.casefold() not in known and not _stands_in(_folded(literal), folded)
    )
    return _gate(
        "grounded",
        not missing,
        value=len(missing),
        threshold=0,
        message=f"The evidence does not contain {', '.join(missing[:5])}.",
    )


def actionable(content: str) -> Gate:
    """It tells somebody to do something, or not to."""
    found = wording.DIRECTIVE.search(content)
    return _gate(
        "actionable",
        found is not None,
        value=found[0].strip() if found else "none",
        threshold="an instruction",
        message="It says nothing that can be done.",
    )


def atomic(content: str) -> Gate:
    words = len(content.split())
    items = len(wording.LIST_ITEM.findall(content))
    if items > 1:
        message = f"It is a list of {items} items; a lesson is one idea."
    else:
        message = f"It has {words} words; a lesson has {MOST_WORDS} at most."
    return _gate(
        "atomic",
        words <= MOST_WORDS and items <= 1,
        value=words,
        threshold=MOST_WORDS,
        message=message,
    )


def specific(content: str) -> Gate:
    """It names something that is not in every piece of advice."""
    words = {
        word
        for word in wording.WORD.findall(content.lower())
        if word not in wording.VAGUE
    }
    telling = len(words) + FEWEST_TELLING * bool(find_literals(content))
    return _gate(
        "specific",
        telling >= FEWEST_TELLING,
        value=telling,
        threshold=FEWEST_TELLING,
        message="It would be true of any task.",
    )


def not_instruction(content: str) -> Gate:
    """It does not speak to the model that will read it, over the heads of its users."""
    found = _first(prompt_injection.PATTERNS, content)
    return _gate(
        "instruction",
        not found,
        value=found or "none",
        threshold="none",
        message=f"It reads like an attack on the reader: {found}.",
    )


def not_from_an_attack(surroundings: Sequence[str]) -> Gate:
    """No quote stands beside words that command whoever reads the run.

    Of what a log has by itself, such as speakers and tool calls, nothing is held
    against it.
    """
    commands = [row for row in prompt_injection.PATTERNS if row[0] in COMMANDS]
    found = next(filter(None, (_first(commands, text) for text in surroundings)), "")
    return _gate(
        "instruction",
        not found,
        value=found or "none",
        threshold="none",
        message=f"Beside its quote the run reads like an attack on the reader: {found}.",
    )


def not_one_off(content: str) -> Gate:
    """It holds beyond the one day, user, order or run that it was learned from."""
    plain = wording.EXAMPLE.sub(" ", content)
    found = _first(wording.ONE_OFFS, plain)
    if wording.OCCASION.search(wording.QUOTED_WORD.sub(" ", plain)):
        found = found or "this one occasion"
    return _gate(
        "one_off",
        not found,
        value=found or "none",
        threshold="none",
        message=f"It speaks of one case only: {found}.",
    )


def duplicate(similarity: float | None) -> Gate:
    """`similarity` is the cosine to the nearest entry, None without neighbours."""
    value = round(similarity or 0.0, 4)
    if value >= SAME:
        return Gate("duplicate", "fail", value, SAME, "The playbook says it already.")
    if value >= ALIKE:
        return Gate("duplicate", "warn", value, SAME, "An entry is much like it.")
    return Gate("duplicate", "pass", value, SAME)


def within_budget(tokens_now: int, tokens_added: int, budget: int) -> Gate:
    """Only additions are refused: what shrinks a full playbook is welcome."""
    return _gate(
        "budget",
        tokens_added <= 0 or tokens_now + tokens_added <= budget,
        value=tokens_now + tokens_added,
        threshold=budget,
        message="The playbook has no room for it.",
    )


def keeps_literals(before: str, after: str) -> Gate:
    folded = _folded(after)
    known = {literal.casefold() for literal in find_literals(after)}
    dropped = sorted(
        literal
        for literal in find_literals(before)
        if literal.casefold() not in known
        and not _stands_whole(_folded(literal), folded)
    )
    return _gate(
        "shrink",
        not dropped,
        value=len(dropped),
        threshold=0,
        message=f"It drops {', '.join(dropped[:5])}.",
    )


def keeps_words(before: str, after: str) -> Gate:
    """Count each word as often as it stands in the text."""
    words = wording.WORD.findall(before.lower())
    kept = set(wording.WORD.findall(after.lower()))
    dropped = sum(word not in kept for word in words) / len(words) if words else 0.0
    return _gate(
        "shrink",
        dropped < MOST_DROPPED,
        value=round(dropped, 4),
        threshold=MOST_DROPPED,
        message=f"It drops {dropped:.0%} of the words.",
    )


def blast_radius(removed_or_shrunk: int, live: int) -> Gate:
    """`removed_or_shrunk` of `live` entries, or tokens, in one run."""
    share = removed_or_shrunk / live if live else float(removed_or_shrunk > 0)
    return _gate(
        "blast_radius",
        share <= MOST_REMOVED,
        value=round(share, 4),
        threshold=MOST_REMOVED,
        message=f"The run removes or shrinks {share:.0%} of the playbook.",
    )


def _gate(
    name: str,
    passes: bool,
    *,
    value: float | str,
    threshold: float | str,
    message: str,
) -> Gate:
    if passes:
        return Gate(name, "pass", value, threshold)
    return Gate(name, "fail", value, threshold, message)


def _first(table: Sequence[tuple[str, re.Pattern[str]]], content: str) -> str:
    return next((name for name, pattern in table if pattern.search(content)), "")


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _stands_in(literal: str, folded: str) -> bool:
    """Whether it stands there as a whole: 30 is not in 130, nor in 1.30.

    One that ends in `_`, `-` or `/` is a prefix, and may go on: `gift_card_` is in
    `gift_card_1234`.
    """
    end = "" if literal.endswith(("_", "-", "/")) else r"(?!\w|[.,]\d)"
    pattern = rf"(?<![\w])(?<!\d[.,]){re.escape(literal)}{end}"
    return re.search(pattern, folded) is not None


def _stands_whole(literal: str, folded: str) -> bool:
    """Whether it stands there and does not go on: `/orders` is not in `/orders/bulk`."""
    longer = rf"(?<!\w){re.escape(literal)}[./]\w[\w./-]*"
    return _stands_in(literal, re.sub(longer, " ", folded))
