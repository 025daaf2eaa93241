"""What a posted playbook would change: a diff of its lines and the entries there are."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from common.text import plain_text as texts
from inference import tokens
from playbook.exchange import imported_rules, sections
from playbook.exchange.ace_format import RuleLine, UnparsedLine
from playbook.exchange.imported_rules import ImportedRule
from playbook.models import PlaybookEntry
from playbook.models import format_line as line_of
from playbook.proposals.proposed_change import Operation, Proposal
from playbook.rule_text import text_patterns
from projects.models import Project

TAG = "imported"
# Labels are the project's own when at least half of the lines that have one speak of
# what its entry speaks of; of two playbooks both have a `gotchas-00001`.
MAJORITY = 0.5
# Entries that the reasons and notes of one line name at most.
MAX_NAMED = 20


@dataclass
class ImportPlan:
    proposals: list[Proposal] = field(default_factory=list)
    unparsed: list[UnparsedLine] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class EntryLookup:
    """The entries of a project by what a line may call them."""

    def __init__(self, entries: Iterable[PlaybookEntry]) -> None:
        self.entries = sorted(entries, key=lambda entry: entry.pk)
        self.by_label = {entry.label: entry for entry in self.entries}
        self.live = [entry for entry in self.entries if entry.is_live]
        self.by_alias = {name: e for e in self.live for name in e.aliases}
        self.by_hash = {entry.similarity_hash: entry for entry in self.live}
        self.used_labels: set[str] = set()

    def find(self, label: str) -> PlaybookEntry | None:
        return self.by_label.get(label) or self.by_alias.get(label)


def build_plan(
    project: Project,
    lines: Sequence[RuleLine],
    *,
    category: str = "",
    is_whole: bool,
    **author: Any,
) -> ImportPlan:
    """Proposals that would make the playbook say what the lines say.

    `is_whole`: an entry that a rewrite of this playbook leaves out is proposed for
    deletion. `author` are fields of every proposal.
    """
    entries = PlaybookEntry.objects.filter(project=project).light()
    known = EntryLookup(entries)
    gathered = imported_rules.collect(project, lines)
    made = ImportPlan(unparsed=gathered.unparsed, notes=gathered.notes)
    is_ours = _labels_are_ours(gathered.lines, known)
    for rule in gathered.rules:
        owners = _owners(rule, known) if is_ours else []
        if proposal := _proposal(project, rule, owners, known, category, made):
            made.proposals.append(proposal)
    if is_whole and is_ours and _is_rewrite(gathered.lines, known):
        made.proposals += _removals(gathered.rules, known)
    removals = _tokens_removed(made.proposals)
    made.proposals = [
        _with_key(
            project, replace(p, import_removals=removals, origin="import", **author)
        )
        for p in made.proposals
    ]
    return made


def _labels_are_ours(lines: Sequence[RuleLine], known: EntryLookup) -> bool:
    """Whether lines with labels that are known here speak of those entries."""
    named = [(line, known.find(line.label)) for line in lines]
    pairs = [(line, entry) for line, entry in named if entry]
    alike = sum(_overlap(line.text, entry.content) >= MAJORITY for line, entry in pairs)
    return bool(pairs) and alike >= MAJORITY * len(pairs)


def _is_rewrite(lines: Sequence[RuleLine], known: EntryLookup) -> bool:
    own = sum(line.label in known.by_label for line in lines)
    return own >= MAJORITY * len(lines)


def _overlap(left: str, right: str) -> float:
    """The share of the shorter text's words that the other has."""
    ours, theirs = (
        set(text_patterns.WORD.findall(text.casefold())) for text in (left, right)
    )
    return len(ours & theirs) / max(min(len(ours), len(theirs)), 1)


def _owners(rule: ImportedRule, known: EntryLookup) -> list[PlaybookEntry]:
    found = (known.find(label) for label in rule.labels)
    return list({entry.pk: entry for entry in found if entry}.values())


def _proposal(
    project: Project,
    rule: ImportedRule,
    owners: Sequence[PlaybookEntry],
    known: EntryLookup,
    category: str,
    made: ImportPlan,
) -> Proposal | None:
    live = [owner for owner in owners if owner.is_live]
    if holder := known.by_hash.get(rule.hash):
        _note_duplicates(rule, holder, live, made)
        return _alias(rule, holder, known)
    if live:
        _note_duplicates(rule, live[0], live, made)
        return _update(rule, live[0], known)
    if owners:
        told = f"{owners[0].label} is {owners[0].status} here"
        made.notes.append(f"Line {rule.number}: {told}; nothing is proposed.")
        return None
    return _addition(project, rule, known, category, made)


def _note_duplicates(
    rule: ImportedRule,
    stays: PlaybookEntry,
    owners: Sequence[PlaybookEntry],
    made: ImportPlan,
) -> None:
    others = [owner.label for owner in owners if owner.pk != stays.pk][:MAX_NAMED]
    if others:
        made.notes.append(
            f"Line {rule.number}: {', '.join(others)} would say what {stays.label} "
            "says; nothing is proposed, merge them if they are one."
        )


def _alias(
    rule: ImportedRule, entry: PlaybookEntry, known: EntryLookup
) -> Proposal | None:
    """A text that is there already: its other labels become names of the entry."""
    new = _free_labels(rule, known, {*entry.aliases, entry.label})
    if not new:
        return None
    return Proposal(
        Operation.UPDATE,
        entry=entry,
        expected_version=entry.version,
        settings={"aliases": new},
        reason=f"Line {rule.number} of an import says it too, as {', '.join(new)}.",
    )


def _update(rule: ImportedRule, entry: PlaybookEntry, known: EntryLookup) -> Proposal:
    new = _free_labels(rule, known, {*entry.aliases, entry.label})
    return Proposal(
        Operation.UPDATE,
        entry=entry,
        expected_version=entry.version,
        content=rule.text,
        settings={"aliases": new} if new else {},
        reason=f"Line {rule.number} of an import says this of {entry.label}.",
    )


def _addition(
    project: Project,
    rule: ImportedRule,
    known: EntryLookup,
    category: str,
    made: ImportPlan,
) -> Proposal:
    aliases = _free_labels(rule, known, set())
    taken = [label for label in rule.labels if label not in aliases]
    if taken:
        made.notes.append(
            f"Line {rule.number}: {', '.join(taken[:MAX_NAMED])} names another entry "
            "already, so it is no alias of this one."
        )
    where = f", section {rule.section}" if rule.section else ""
    named = f" as {', '.join(rule.labels[:MAX_NAMED])}" if rule.labels else ""
    tag = sections.tag(rule.section)
    return Proposal(
        Operation.ADD,
        content=rule.text,
        category=sections.category(
            rule.section, project.options.categories, otherwise=category
        ),
        tags=tuple(filter(None, dict.fromkeys([TAG, tag]))),
        settings={
            "aliases": aliases,
            "helpful": rule.helpful,
            "harmful": rule.harmful,
        },
        reason=f"Imported from line {rule.number}{where}{named}.",
    )


def _free_labels(rule: ImportedRule, known: EntryLookup, have: set[str]) -> list[str]:
    """Labels of the line that name nothing else, here or earlier in the file."""
    free = [
        name
        for name in rule.labels
        if name not in have | known.used_labels and known.find(name) is None
    ]
    known.used_labels.update(free)
    return free


def _removals(
    texts_left: Sequence[ImportedRule], known: EntryLookup
) -> Iterator[Proposal]:
    kept = {rule.hash for rule in texts_left}
    named = {label for rule in texts_left for label in rule.labels}
    for entry in known.live:
        names = {entry.label, *entry.aliases}
        if not names & named and entry.similarity_hash not in kept:
            yield Proposal(
                Operation.DELETE,
                entry=entry,
                expected_version=entry.version,
                reason="The posted playbook leaves it out.",
            )


def _tokens_removed(proposals: Sequence[Proposal]) -> dict[Any, int]:
    """Tokens that the whole import takes out of each entry that it removes or shrinks."""
    lost = {}
    for proposal in proposals:
        entry = proposal.entry
        if entry is None or not (proposal.content or proposal.operation == "delete"):
            continue
        after = line_of(entry.label, proposal.content) if proposal.content else ""
        taken = entry.tokens - tokens.estimate(after)
        if taken > 0:
            lost[entry.pk] = taken
    return lost


def _with_key(project: Project, proposal: Proposal) -> Proposal:
    """With the key that makes the same post, made again, change nothing."""
    entry = proposal.entry
    parts = [
        "import",
        str(project.pk),
        proposal.operation,
        f"{entry.pk} {entry.version}" if entry else "",
        texts.similarity_hash(proposal.content) if proposal.content else "",
        *([] if proposal.content else sorted(proposal.settings.get("aliases", ()))),
    ]
    key = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return replace(proposal, idempotency_key=key)
