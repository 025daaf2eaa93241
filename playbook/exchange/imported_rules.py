"""Collect the texts of an imported playbook: mask secrets, and combine exact copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.utils.text import capfirst

from common.text import same_text, secrets
from playbook.entries.text_limits import MAX_CONTENT
from playbook.exchange.ace_format import LARGEST_COUNT, RuleLine, UnparsedLine
from projects.models import Project


@dataclass(frozen=True)
class ImportedRule:
    """A text of the file.

    Exact copies of a text are one rule, which has the labels of all copies.
    """

    text: str
    labels: tuple[str, ...]
    helpful: int
    harmful: int
    section: str
    number: int
    secrets: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        return f"line {self.number}"

    @property
    def hash(self) -> str:
        return same_text.hash_text(self.text)


@dataclass(frozen=True)
class ImportedRules:
    """The rules of a file.

    `lines` fit in an entry. `unparsed` are too long for an entry.
    """

    rules: list[ImportedRule]
    lines: list[RuleLine]
    unparsed: list[UnparsedLine]
    notes: list[str]


def collect(project: Project, lines: Sequence[RuleLine]) -> ImportedRules:
    """Return each text once, without secrets, and with the labels of all its copies."""
    lines_that_fit = [line for line in lines if len(line.text) <= MAX_CONTENT]
    unparsed = [_reject_long(line) for line in lines if len(line.text) > MAX_CONTENT]
    rules_by_hash: dict[str, ImportedRule] = {}
    notes = []
    for line in lines_that_fit:
        rule = _rule(project, line)
        first = rules_by_hash.setdefault(rule.hash, rule)
        if first is not rule:
            rules_by_hash[rule.hash] = _add_copy(first, rule)
            notes.append(f"{capfirst(rule.place)} says what {first.place} says.")
        elif rule.secrets:
            kinds = ", ".join(rule.secrets)
            notes.append(f"{capfirst(rule.place)}: a secret ({kinds}) was masked.")
    return ImportedRules(list(rules_by_hash.values()), lines_that_fit, unparsed, notes)


def _reject_long(line: RuleLine) -> UnparsedLine:
    why = f"It has {len(line.text)} characters; an entry has {MAX_CONTENT} at most."
    return UnparsedLine(line.number, line.text, why)


def _add_copy(first: ImportedRule, copy: ImportedRule) -> ImportedRule:
    return replace(
        first,
        labels=tuple(dict.fromkeys([*first.labels, *copy.labels])),
        helpful=first.helpful + copy.helpful,
        harmful=first.harmful + copy.harmful,
    )


def _rule(project: Project, line: RuleLine) -> ImportedRule:
    text = line.text
    kinds: tuple[str, ...] = ()
    if project.options.secrets != "allow":
        found = secrets.mask(text)
        text, kinds = found.text, tuple(found.kinds)
    labels = (line.label,) if line.label else ()
    helpful, harmful = (min(n, LARGEST_COUNT) for n in (line.helpful, line.harmful))
    return ImportedRule(
        text,
        labels,
        helpful,
        harmful,
        line.section,
        line.number,
        kinds,
    )
