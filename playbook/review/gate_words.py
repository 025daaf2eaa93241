"""The gates in words: what each one checks, and what it found.

The codes (`playbook.rule_text.text_gates`) stay as they are in the API; people read these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from playbook.models import PlaybookDelta
from playbook.proposals.policy import PERSON_GATES, REMOVAL_OPERATIONS
from playbook.proposals.proposed_change import Operation

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
    "outcome": GateWords(
        "Outcome", "The task ended as {value}.", "the outcome of its task is unknown"
    ),
    "quote": GateWords(
        "Evidence", "Quotes of the task support it: {value}.", "no quote supports it"
    ),
    "verbatim": GateWords(
        "Exact quotes",
        "Every quote stands in the task word for word.",
        "a quote differs from the task",
    ),
    "grounded": GateWords(
        "Grounded",
        "Every name and number in it stands in the evidence.",
        "the evidence does not have all of its names",
    ),
    "actionable": GateWords(
        "Advice",
        "It tells an agent what to do, or what not to do.",
        "it does not tell an agent what to do",
    ),
    "specific": GateWords(
        "Specific",
        "It names something that most advice does not name.",
        "it would be true of every task",
    ),
    "one_off": GateWords(
        "More than one case",
        "It is not about one day, user, order or run.",
        "it is about one case only",
    ),
    "atomic": GateWords(
        "One idea", "It has {value} words, of at most {threshold}.", "it is too long"
    ),
    "secret": GateWords(
        "Secrets", "It has no password, token or key.", "it has a secret"
    ),
    "instruction": GateWords(
        "Attack",
        "It does not read like an attack on the agent.",
        "it reads like an attack on the agent",
    ),
    "danger": GateWords(
        "Danger",
        "To follow it does no known harm.",
        "to follow it may do harm",
    ),
    "language": GateWords(
        "Language",
        "It is in English, which the other checks read.",
        "it is not in English, which the checks read",
    ),
    "duplicate": GateWords(
        "Duplicate",
        "No rule of the playbook is near.",
        "a rule of the playbook may say the same or the opposite",
    ),
    "supply": GateWords(
        "Sources",
        "It leads to no other package, host or index.",
        "it leads to another package, host or index",
    ),
    "foreign": GateWords(
        "Author",
        "Its words do not come from a web page, a mail or the like.",
        "its words come from a foreign text",
    ),
    "reach": GateWords(
        "Where it applies",
        "The evidence speaks of where it applies: {value}.",
        "it would reach tasks of which its evidence does not speak",
    ),
    "budget": GateWords(
        "Room",
        "The playbook would have {value} tokens, of at most {threshold}.",
        "the playbook has no room for it",
    ),
    "protection": GateWords(
        "Protection",
        "The rule that it changes is not protected.",
        "it changes a protected rule",
    ),
    "refuted": GateWords(
        "Votes", "The votes refute the rule.", "the votes have not refuted the rule"
    ),
    "shrink": GateWords(
        "Lost words",
        "The rule keeps its names and most of its words.",
        "the rule would lose names or words",
    ),
    "blast_radius": GateWords(
        "Size of the change",
        "Its task removes or shortens little of the playbook.",
        "its task removes or shortens much of the playbook",
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

    `playbook.proposals.policy` decides the risk by the same gates and operations.
    """
    if delta.risk == "low":
        return ""
    gates = [gate for gate in delta.gates if isinstance(gate, dict)]
    open_gates = [str(g.get("name")) for g in gates if g.get("verdict") != "pass"]
    names = [name for name in open_gates if name in PERSON_GATES] or open_gates
    if delta.risk == "medium":
        names = open_gates
    found = [GATES[name].risk for name in dict.fromkeys(names) if name in GATES]
    if delta.operation in REMOVAL_OPERATIONS:
        found.append("it removes something")
    elif delta.operation == Operation.UPDATE and not found:
        found.append("it changes a rule that agents are given")
    return f"Because {' and '.join(found)}." if found else ""
