"""The texts of a posted playbook: masked, and exact copies taken together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from common.text import plain_text as texts
from common.text import secrets
from playbook.entries.text_limits import MAX_CONTENT
from playbook.exchange.ace_format import LARGEST_COUNT, RuleLine, UnparsedLine
from projects.models import Project


@dataclass(frozen=True)
class ImportedRule:
    """A text of the file with everything that was said of it: exact copies are one."""

    text: str
    labels: tuple[str, ...]
    helpful: int
    harmful: int
    section: str
    number: int
    secrets: tuple[str, ...] = ()

    @property
    def hash(self) -> str:
        return texts.similarity_hash(self.text)


@dataclass(frozen=True)
class ImportedRules:
    """`lines` are those that fit into an entry; `unparsed` those that do not."""

    rules: list[ImportedRule]
    lines: list[RuleLine]
    unparsed: list[UnparsedLine]
    notes: list[str]


def collect(project: Project, lines: Sequence[RuleLine]) -> ImportedRules:
    """Texts without their secrets, each once, with the labels of all its copies."""
    fitting = [line for line in lines if len(line.text) <= MAX_CONTENT]
    unparsed = [_reject_long(line) for line in lines if len(line.text) > MAX_CONTENT]
    together: dict[str, ImportedRule] = {}
    notes = []
    for line in fitting:
        rule = _rule(project, line)
        first = together.setdefault(rule.hash, rule)
        if first is not rule:
            together[rule.hash] = _add_copy(first, rule)
            notes.append(f"Line {line.number} says what line {first.number} says.")
        elif rule.secrets:
            kinds = ", ".join(rule.secrets)
            notes.append(f"Line {line.number}: a secret ({kinds}) was masked.")
    return ImportedRules(list(together.values()), fitting, unparsed, notes)


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
        text, labels, helpful, harmful, line.section, line.number, kinds
    )
