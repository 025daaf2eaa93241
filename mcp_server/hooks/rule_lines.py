"""The rules that a session starts with, each as one line."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Q

from common.caller import Caller
from common.text.quote import json_string
from context.headings import UNREVIEWED
from context.memory_lines import EarlierTexts
from mcp_server.hooks import branch_files, given_line
from mcp_server.hooks.branch_files import AnchorState, BranchFiles
from mcp_server.hooks.given_line import GivenLine, Section, ToldLines
from mcp_server.hooks.pushes import digest
from mcp_server.models import Push
from playbook.entries import freshness
from playbook.lessons import expiry
from playbook.models import PlaybookEntry
from playbook.reading import acceptance, entry_list, own_lessons, relevance
from playbook.reading.renderer import EntryRow, TaskFit, sort_entries
from playbook.rule_text.applicability import Surroundings, find_match
from projects.models import Project

MAX_RULE = 600  # characters of a rule
MAX_RULES = 60  # rules that are read; the budget has no room for more


@dataclass(frozen=True)
class FoundRules:
    """The rules that a person stands behind, and those that were only learned."""

    told: ToldLines
    others: Sequence[GivenLine]


def find(project: Project, caller: Caller, files: BranchFiles) -> FoundRules:
    """Return the rules, the most important first, without the answers to single questions.

    The order is that of a rendering without a task, but rules of the files at hand come
    before the rest.
    """
    rows = entry_list.find(project, entry_list.EntryFilters(), caller)
    rows = relevance.without_answers(rows).order_by()
    is_told = Q(is_of_person=True) & ~freshness.in_doubt()
    accepted = rows.annotate(is_of_person=acceptance.of_person()).filter(is_told)
    told_ids = set(accepted.values_list("pk", flat=True))
    around = Surroundings(paths=tuple(files.reported))
    columns = rows.values_list(*EntryRow._fields)
    entries = sort_entries((EntryRow(*row) for row in columns), TaskFit())
    entries.sort(key=lambda each: not (each.pinned or _is_near(each, around)))
    told = [each.pk for each in entries if each.pk in told_ids]
    others = [each.pk for each in entries if each.pk not in told_ids][:MAX_RULES]
    lines = load(project, [*told[:MAX_RULES], *others], caller, files)
    told_lines = [line for line in lines if line.is_accepted]
    count = len(told[MAX_RULES:]) + len(told_lines)
    return FoundRules(
        ToldLines(told_lines, count, "the tool context gives those of a task"),
        [line for line in lines if not line.is_accepted],
    )


def find_own(
    project: Project, caller: Caller, *, said: Iterable[str]
) -> list[GivenLine]:
    """Return what the person behind the agent told, and what waits for everybody else."""
    earlier = EarlierTexts()
    earlier.add(*said)
    lines = (
        f"- {json_string(lesson.content, MAX_RULE)}"
        for lesson in own_lessons.find(project, caller)
        if not earlier.has(lesson.content)
    )
    return [GivenLine(Push.PushKind.CARD, digest(line), line) for line in lines]


def _is_near(entry: EntryRow, around: Surroundings) -> bool:
    return bool(find_match(entry.applies_to, around))


def load(
    project: Project, ids: Sequence[uuid.UUID], caller: Caller, files: BranchFiles
) -> list[GivenLine]:
    """Return the lines of these live rules, in their order.

    A rule about a file that is gone on the agent's branch, or about the work of another branch
    that is not merged yet, is left out; one about a file that has changed there is marked.
    """
    rows = entry_list.find(project, entry_list.EntryFilters(), caller)
    entries = entry_list.with_details(rows, caller).in_bulk(ids) if ids else {}
    states = branch_files.of_rules(entries, files) if entries else {}
    return [
        _write(entries[pk], state)
        for pk in ids
        if pk in entries
        and not (state := states.get(pk, AnchorState())).gone
        and expiry.read(entries[pk].expires_when).holds_on(files.branch)
    ]


def _write(entry: PlaybookEntry, state: AnchorState) -> GivenLine:
    mark = freshness.doubt_note(
        entry.content,
        is_contested=freshness.is_in_doubt(entry),
        files=sorted({*freshness.changed_files(entry), *state.changed}),
    )
    text = write_text(entry.label, entry.content, mark)
    return GivenLine(
        Push.PushKind.RULE,
        str(entry.pk),
        text,
        tuple(sorted(state.paths)),
        is_accepted=entry_list.is_accepted(entry),
    )


def sections(lines: Sequence[GivenLine], heading: str, tokens: int) -> list[Section]:
    """Return the accepted rules, and those without a person; together at most `tokens`."""
    accepted = Section(heading, [each for each in lines if each.is_accepted], tokens)
    others = [each for each in lines if not each.is_accepted]
    used = sum(each.tokens for each in given_line.lines_in([accepted], tokens))
    return [accepted, Section(UNREVIEWED, others, tokens - used)]


def write_text(label: str, content: str, mark: str) -> str:
    """Return the line of a rule; `mark` is a note of doubt, or an empty text."""
    return f"- [{label}] {json_string(content, MAX_RULE)}{mark}"
