"""The gates in words: what each one checks, and what it found.

The codes (`playbook.lessons.gates`) stay as they are in the API; people read these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from playbook.lessons.draft import Operation
from playbook.lessons.policy import REMOVAL_OPERATIONS
from playbook.models import PlaybookDelta

WORST_FIRST = ("fail", "warn", "pass")
VERDICTS = {"pass": "passed", "warn": "a person decides", "fail": "failed"}


@dataclass(frozen=True)
class GateWords:
    """A gate in words.

    `passed` is the sentence of a gate that passed. `risk` ends a sentence that says why a
    proposal that did not pass has a risk.
    """

    label: str
    passed: str
    risk: str


GATES = {
    "evidence": GateWords(
        "Evidence",
        "Quotes have its names and numbers word for word: {value}.",
        "its evidence does not carry it",
    ),
    "worth": GateWords(
        "Worth",
        "It is one new sentence of {value} words that names something.",
        "it may say nothing new, or nothing useful",
    ),
    "secret": GateWords(
        "Secrets", "It has no password, token or key.", "it has a secret"
    ),
    "unsafe": GateWords(
        "Safety",
        "To follow it does no known harm, and nobody dictated it.",
        "to follow it may do harm",
    ),
    "reach": GateWords(
        "Reach",
        "It comes from what {value} may read.",
        "it comes from the memory of one user",
    ),
    "room": GateWords(
        "Room",
        "The playbook would have {value} tokens, of at most {threshold}.",
        "the playbook has no room for it",
    ),
    "limit": GateWords(
        "Limit",
        "It changes nothing that only a person may change, and removes little.",
        "it changes or removes what only a person may",
    ),
}


@dataclass(frozen=True)
class GateFinding:
    """What a gate found, as a person reads it."""

    label: str
    verdict: str
    verdict_words: str
    sentence: str


def describe(gates: Iterable[Any]) -> list[GateFinding]:
    """Return the results of the gates, the worst first; equal ones are said once."""
    results = [_describe_one(gate) for gate in gates if isinstance(gate, dict)]
    order = {verdict: number for number, verdict in enumerate(WORST_FIRST)}
    unique = dict.fromkeys(results)
    return sorted(unique, key=lambda result: order.get(result.verdict, 0))


def _describe_one(gate: Mapping[str, Any]) -> GateFinding:
    name, verdict = str(gate.get("name", "")), str(gate.get("verdict", ""))
    words, said = GATES.get(name), str(gate.get("message") or "")
    if words and verdict == "pass":
        said = words.passed.format(
            value=gate.get("value"), threshold=gate.get("threshold")
        )
    elif words and not said:
        said = f"{words.risk[:1].upper()}{words.risk[1:]}."
    label = words.label if words else name
    return GateFinding(label, verdict, VERDICTS.get(verdict, verdict), said)


def explain_risk(delta: PlaybookDelta) -> str:
    """Say why a proposal has a risk; "" for a low one.

    `playbook.lessons.policy` decides the risk by the same gates and operations.
    """
    if delta.risk == "low":
        return ""
    gates = [gate for gate in delta.gates if isinstance(gate, dict)]
    names = [str(g.get("name")) for g in gates if g.get("verdict") != "pass"]
    found = [GATES[name].risk for name in dict.fromkeys(names) if name in GATES]
    if delta.operation in REMOVAL_OPERATIONS:
        found.append("it removes something")
    elif delta.operation == Operation.UPDATE and not found:
        found.append("it changes a rule that agents are given")
    return f"Because {' and '.join(found)}." if found else ""
