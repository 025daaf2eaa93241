"""Plan an import: find the changes that turn the entries into the lines of a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.text import capfirst

from common.text import plain_text as texts
from common.text import same_text
from common.text.quote import json_string, safe_line
from inference import tokens
from playbook.entries.text_limits import MAX_TAG
from playbook.exchange import ace_format, imported_rules, sections
from playbook.exchange.ace_format import RuleLine, UnparsedLine
from playbook.exchange.imported_rules import ImportedRule
from playbook.lessons import draft as drafts
from playbook.lessons.draft import Draft, Operation
from playbook.models import PlaybookDelta, PlaybookEntry
from playbook.models import format_line as line_of
from playbook.rule_text import text_patterns
from projects.models import Project

TAG = "imported"
# The labels in a file are the project's labels if at least half of the labelled lines
# have a text like the text of their entry. The texts are compared because any two
# playbooks have a `gotchas-00001`.
MAJORITY = 0.5
# The largest number of entries that a reason or a note lists.
MAX_NAMED = 20


@dataclass
class ImportPlan:
    drafts: list[Draft] = field(default_factory=list)
    unparsed: list[UnparsedLine] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class EntryLookup:
    """Finds the entries of a project by label, alias and text."""

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
    """Return the changes that make the playbook say what the lines say.

    With `is_whole`, entries that a rewrite of this playbook leaves out are proposed for
    deletion. `author` holds columns that every change gets.
    """
    entries = PlaybookEntry.objects.filter(project=project).light()
    lookup = EntryLookup(entries)
    imported = imported_rules.collect(project, lines)
    changes: list[PlaybookDelta] = []
    plan = ImportPlan(unparsed=imported.unparsed, notes=imported.notes)
    is_ours = _labels_are_ours(imported.lines, lookup)
    for rule in imported.rules:
        owners = _owners(rule, lookup) if is_ours else []
        if change := _change(project, rule, owners, lookup, category, plan):
            changes.append(change)
    if is_whole and is_ours and _is_rewrite(imported.lines, lookup):
        changes += _removals(imported.rules, lookup)
    losses = _tokens_removed(changes)
    for change in changes:
        change.payload["origin"] = "import"
        change.idempotency_key = _key(project, change)
        for name, value in author.items():
            setattr(change, name, value)
    plan.drafts = [Draft(change, losses=losses) for change in changes]
    return plan


def _labels_are_ours(lines: Sequence[RuleLine], lookup: EntryLookup) -> bool:
    """Whether most lines with a known label have a text like the text of their entry."""
    found = [(line, lookup.find(line.label)) for line in lines]
    pairs = [(line, entry) for line, entry in found if entry]
    similar = sum(
        _overlap(line.text, entry.content) >= MAJORITY for line, entry in pairs
    )
    return bool(pairs) and similar >= MAJORITY * len(pairs)


def _is_rewrite(lines: Sequence[RuleLine], lookup: EntryLookup) -> bool:
    own = sum(line.label in lookup.by_label for line in lines)
    return own >= MAJORITY * len(lines)


def _overlap(left: str, right: str) -> float:
    """Return the share of the shorter text's words that the other text contains."""
    ours, theirs = (
        set(text_patterns.WORD.findall(text.casefold())) for text in (left, right)
    )
    return len(ours & theirs) / max(min(len(ours), len(theirs)), 1)


def _owners(rule: ImportedRule, lookup: EntryLookup) -> list[PlaybookEntry]:
    found = (lookup.find(label) for label in rule.labels)
    return list({entry.pk: entry for entry in found if entry}.values())


def _change(
    project: Project,
    rule: ImportedRule,
    owners: Sequence[PlaybookEntry],
    lookup: EntryLookup,
    category: str,
    plan: ImportPlan,
) -> PlaybookDelta | None:
    live = [owner for owner in owners if owner.is_live]
    exported = (owner for owner in live if _is_exported(rule, owner))
    if holder := lookup.by_hash.get(rule.hash) or next(exported, None):
        _note_duplicates(rule, holder, live, plan)
        return _alias(rule, holder, lookup)
    if live:
        _note_duplicates(rule, live[0], live, plan)
        return _update(rule, live[0], lookup)
    if owners:
        reason = f"{owners[0].label} is {owners[0].status} here"
        plan.notes.append(f"{capfirst(rule.place)}: {reason}; nothing is proposed.")
        return None
    return _addition(project, rule, lookup, category, plan)


def _is_exported(rule: ImportedRule, entry: PlaybookEntry) -> bool:
    """Whether the text is what an export writes of the entry: without invisible characters."""
    forms = (ace_format.canonical, safe_line)
    return any(rule.hash == same_text.hash_text(f(entry.content)) for f in forms)


def _note_duplicates(
    rule: ImportedRule,
    stays: PlaybookEntry,
    owners: Sequence[PlaybookEntry],
    plan: ImportPlan,
) -> None:
    others = [owner.label for owner in owners if owner.pk != stays.pk][:MAX_NAMED]
    if others:
        plan.notes.append(
            f"{capfirst(rule.place)}: {', '.join(others)} would say what {stays.label} "
            "says; nothing is proposed, merge them if they are one."
        )


def _alias(
    rule: ImportedRule, entry: PlaybookEntry, lookup: EntryLookup
) -> PlaybookDelta | None:
    """Propose the additional labels of an existing text as aliases of the text's entry."""
    new = _free_labels(rule, lookup, {*entry.aliases, entry.label})
    if not new:
        return None
    return drafts.change(
        Operation.UPDATE,
        entry=entry,
        expected_version=entry.version,
        values={"aliases": new},
        reason=f"{capfirst(rule.place)} of an import has the same text, as {', '.join(new)}.",
    )


def _update(
    rule: ImportedRule, entry: PlaybookEntry, lookup: EntryLookup
) -> PlaybookDelta:
    new = _free_labels(rule, lookup, {*entry.aliases, entry.label})
    return drafts.change(
        Operation.UPDATE,
        entry=entry,
        expected_version=entry.version,
        values={"content": rule.text, **({"aliases": new} if new else {})},
        reason=f"{capfirst(rule.place)} of an import has this text for {entry.label}.",
    )


def _addition(
    project: Project,
    rule: ImportedRule,
    lookup: EntryLookup,
    category: str,
    plan: ImportPlan,
) -> PlaybookDelta:
    aliases = _free_labels(rule, lookup, set())
    used_labels = [label for label in rule.labels if label not in aliases]
    if used_labels:
        plan.notes.append(
            f"{capfirst(rule.place)}: {', '.join(used_labels[:MAX_NAMED])} names another entry "
            "already, so it is no alias of this one."
        )
    where = f", section {json_string(rule.section)}" if rule.section else ""
    names = f" as {', '.join(rule.labels[:MAX_NAMED])}" if rule.labels else ""
    tag = _section_tag(rule, plan)
    return drafts.change(
        Operation.ADD,
        values={
            "content": rule.text,
            "category": sections.category(
                rule.section, project.options.categories, otherwise=category
            ),
            "tags": list(filter(None, dict.fromkeys([TAG, tag]))),
            "aliases": aliases,
            "helpful": rule.helpful,
            "harmful": rule.harmful,
        },
        reason=f"Imported from {rule.place}{where}{names}.",
    )


def _section_tag(rule: ImportedRule, plan: ImportPlan) -> str:
    """Return the tag of the rule's section; note once for each section that it was cut."""
    tag = sections.tag(rule.section)
    if len(tag) <= MAX_TAG:
        return tag
    note = f"The tag {texts.clip(tag, MAX_TAG)} was cut from {len(tag):,} to {MAX_TAG} characters."
    if note not in plan.notes:
        plan.notes.append(note)
    return tag[:MAX_TAG]


def _free_labels(rule: ImportedRule, lookup: EntryLookup, have: set[str]) -> list[str]:
    """Return the labels that belong to no entry and to no earlier line of the file."""
    free = [
        name
        for name in rule.labels
        if name not in have | lookup.used_labels and lookup.find(name) is None
    ]
    lookup.used_labels.update(free)
    return free


def _removals(
    texts_left: Sequence[ImportedRule], lookup: EntryLookup
) -> Iterator[PlaybookDelta]:
    kept = {rule.hash for rule in texts_left}
    labels = {label for rule in texts_left for label in rule.labels}
    for entry in lookup.live:
        names = {entry.label, *entry.aliases}
        if not names & labels and entry.similarity_hash not in kept:
            yield drafts.change(
                Operation.DELETE,
                entry=entry,
                expected_version=entry.version,
                reason="The imported playbook leaves it out.",
            )


def _tokens_removed(changes: Sequence[PlaybookDelta]) -> dict[Any, int]:
    """Map each entry that the import removes or shrinks to the tokens that the entry loses."""
    lost = {}
    for change in changes:
        entry = change.entry
        if entry is None or not (change.content or change.operation == "delete"):
            continue
        after = line_of(entry.label, change.content) if change.content else ""
        lost_tokens = entry.tokens - tokens.estimate(after)
        if lost_tokens > 0:
            lost[entry.pk] = lost_tokens
    return lost


def _key(project: Project, change: PlaybookDelta) -> str:
    """Return an idempotency key, so that repeating the same import changes nothing."""
    entry, aliases = change.entry, change.payload.get("aliases", ())
    return drafts.key(
        "import",
        project.pk,
        change.operation,
        f"{entry.pk} {entry.version}" if entry else "",
        same_text.hash_text(change.content) if change.content else "",
        *([] if change.content else sorted(aliases)),
    )
