"""Give an agent the memories, rules and files for a task: REQ-MEM-API-005."""

from __future__ import annotations

import sys
import uuid
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Literal, TypeVar

from ace.task import file_paths
from common.caller import Caller, Role
from common.text.quote import json_string, name_or_string
from context import (
    followed_lessons,
    memory_lines,
    selection,
    small_store,
    task_records,
    task_rules,
)
from context.card import card
from context.card.card_line import CardLine
from context.decisions import decide
from context.decisions import lines as decision_lines
from context.decisions.decide import Decisions
from context.files import recommend
from context.files.recommended_file import FileList, FileOfMemories, RecommendedFile
from context.headings import HEADINGS, ONLY_RULES
from context.memory_lines import MemoryLine
from context.selection import (
    Budget,
    CandidateLine,
    SelectedLine,
    Selection,
    Skipped,
)
from context.task_rules import SECTIONS, RelevantRule
from inference import tokens
from memories.models import MemoryFile
from memories.read import exposures as memory_exposures
from memories.read import search
from memories.scopes import Scope
from playbook.entries import freshness
from playbook.models import Exposure
from playbook.reading import entry_list, exposures, own_lessons, withholding
from playbook.reading.own_lessons import OwnLesson
from playbook.rule_text.applicability import read_surroundings
from projects.models import Project

T = TypeVar("T")
OPENING = f"What is known of the task; {ONLY_RULES}"
# A file that was changed shows better where the work is than a file that was read.
RELATION_WEIGHT = {
    "modified": 1.0,
    "created": 1.0,
    "deleted": 0.6,
    "read": 0.5,
    "referenced": 0.5,
}
MAX_RULE = 4_000  # characters; the longest content of an entry
UNREVIEWED_KINDS = ("unreviewed", "unreviewed_other")
CARD_SHARE = 0.2  # of the budget, which the project card may use
TOP_K = 5  # memories, rules and files, if the request names no number
TOKEN_BUDGET = 2_000  # tokens of a context, if the request names none
# Hits beyond the limit: some of the first ones may teach nothing, repeat others, or be
# contradicted.
SPARE_HITS = 8
NOTHING = "Nothing that is stored fits this task.\n"


@dataclass(frozen=True)
class RelevantMemory:
    """A memory that matches the task."""

    hit: search.MemoryHit
    reason: str
    line: MemoryLine


@dataclass(frozen=True)
class AtHand:
    """What the agent has at hand: its tools, paths of files, and scopes that are read too."""

    tools: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    scopes: tuple[Scope, ...] = ()


Item = CardLine | Decisions | RelevantRule | OwnLesson | RelevantMemory | FileList
Part = Literal["decisions", "card", "rules", "memories", "files"]
# An agent that started its session with the card has it already.
TASK_PARTS: tuple[Part, ...] = ("decisions", "rules", "memories", "files")
WITH_CARD: tuple[Part, ...] = ("card", *TASK_PARTS)


@dataclass(frozen=True)
class TaskContext:
    """The context of a task: `text` has one line for each item.

    `skipped` are the items that the budget had no room for. The `decisions` are one item: one
    that was amended never stands alone.
    """

    text: str
    tokens: int
    selected: Sequence[SelectedLine[Item]] = ()
    skipped: Sequence[Skipped[Item]] = ()
    decisions: Decisions = field(default_factory=Decisions)
    below_gate: int = 0
    notes: tuple[str, ...] = ()

    @property
    def memories(self) -> list[RelevantMemory]:
        return self._of(RelevantMemory)

    @property
    def entries(self) -> list[RelevantRule]:
        return self._of(RelevantRule)

    @property
    def card(self) -> list[CardLine]:
        return self._of(CardLine)

    @property
    def files(self) -> Sequence[RecommendedFile]:
        return next((item.files for item in self._of(FileList)), ())

    def _of(self, kind: type[T]) -> list[T]:
        items = (line.item for line in self.selected)
        return [item for item in items if isinstance(item, kind)]


def for_task(
    project: Project,
    description: str,
    caller: Caller,
    *,
    top_k: int | None = None,
    token_budget: int | None = None,
    agent_id: str = "",
    cutoff: search.Cutoff = "auto",
    at_hand: AtHand | None = None,
    session: str = "",
    branch: str = "",
    parts: Collection[Part] = TASK_PARTS,
) -> TaskContext:
    """Return the parts of what is known of a task, and a text that lists them.

    A small store is given whole unless `top_k` says how many memories are wanted.
    Decisions come first, then rules, because they are shorter and were reviewed. No line is
    cut, and no line repeats another one. This function records which entries and memories
    the agent was given, for the agent's next finished task.
    """
    caller.require(Role.VIEWER, project.pk)
    agent_id = exposures.resolve_agent(caller, agent_id)
    at_hand = at_hand or AtHand()
    budget = token_budget or TOKEN_BUDGET
    limit = top_k or TOP_K
    decided = Decisions()
    if "decisions" in parts:
        decided = decide.find(project, description, caller, session=session)
    store = [] if top_k else small_store.read(project, caller, at_hand.scopes)
    request = search.MemorySearch(
        description,
        limit=limit + SPARE_HITS,
        cutoff="none" if store else cutoff,
        extra_scopes=at_hand.scopes,
    )
    result = search.find(project, request, caller)
    known = task_rules.choose(
        project,
        description,
        caller,
        limit=limit,
        tokens=budget // 2,
        around=read_surroundings(description, at_hand.tools, at_hand.files),
    )
    of_card = card.make(project, caller).lines if "card" in parts else ()
    wanted = known.rules if "rules" in parts else []
    rules = _rules_with_room(wanted, of_card, budget)
    given_rules = {rule.entry.pk for rule in rules}
    lines = card.without_rules(of_card, given_rules)
    hits = followed_lessons.choose_of_hits(
        result.hits, caller, rules=given_rules, said=card.said_lessons(lines)
    )
    if store:
        hits = small_store.complete(hits, store)
    found = task_records.rank_last(project, description, hits, most=len(store))
    memories = choose_memories(found.hits, rules, limit=len(store) or limit)
    files = recommend.recommend(
        project,
        description,
        caller,
        limit=limit,
        linked=link_files(memory.hit for memory in memories),
        scope=next(iter(at_hand.scopes), None),
        session=session,
        branch=branch,
    )
    chosen = select_lines(
        wanted,
        memories if "memories" in parts else (),
        files if "files" in parts else FileList(()),
        budget,
        card_lines=lines,
        own=own_lessons.find(project, caller) if "rules" in parts else (),
        decisions=decided,
    )
    in_text = [line.item for line in chosen.lines]
    scores = {x.entry.pk: x.score for x in in_text if isinstance(x, RelevantRule)}
    withheld = withholding.draw(project, scores, caller, session)
    chosen = _without(chosen, withheld)
    text = write(chosen, budget)
    context = TaskContext(
        text,
        tokens.estimate(text),
        chosen.lines,
        chosen.skipped,
        decided,
        below_gate=known.below_gate,
        notes=tuple(
            dict.fromkeys(
                [*result.notes, *known.notes, *_left_out_note(found.left_out)]
            )
        ),
    )
    exposures.record(
        project,
        scores,
        caller,
        source=Exposure.ExposureSource.CONTEXT,
        agent_id=agent_id,
        session=session,
        withheld=withheld,
    )
    memory_exposures.record(
        project,
        [memory.hit.memory.pk for memory in context.memories],
        caller,
        agent_id=agent_id,
    )
    return context


def _without(chosen: Selection[Item], rules: Collection[uuid.UUID]) -> Selection[Item]:
    lines = [
        line
        for line in chosen.lines
        if not (isinstance(line.item, RelevantRule) and line.item.entry.pk in rules)
    ]
    return replace(chosen, lines=lines)


def _left_out_note(records: int) -> Iterator[str]:
    if records:
        yield f"{records} records of finished tasks were left out; a search finds them."


def _rules_with_room(
    rules: Sequence[RelevantRule], card_lines: Iterable[CardLine], token_budget: int
) -> list[RelevantRule]:
    """Return the rules that fit: what another one says, the lines beside it must say."""
    chosen = select_lines(rules, (), FileList(()), token_budget, card_lines=card_lines)
    items = (line.item for line in chosen.lines)
    return [item for item in items if isinstance(item, RelevantRule)]


def choose_memories(
    hits: Iterable[search.MemoryHit], rules: Sequence[RelevantRule], *, limit: int
) -> list[RelevantMemory]:
    """Return the hits that say something new, each with its line."""
    by_id = {hit.memory.pk: hit for hit in hits}
    memories = (hit.memory for hit in by_id.values())
    lines = memory_lines.build(memories, task_rules.texts_of(rules))
    return [
        RelevantMemory(hit, describe_lanes(hit), line)
        for line in lines[:limit]
        if (hit := by_id[line.memory.pk])
    ]


def select_lines(
    rules: Iterable[RelevantRule],
    memories: Iterable[RelevantMemory],
    files: FileList,
    token_budget: int,
    *,
    card_lines: Iterable[CardLine] = (),
    own: Iterable[OwnLesson] = (),
    decisions: Decisions | None = None,
) -> Selection[Item]:
    """Select the lines section by section; a line that does not fit is left out whole."""
    by_section: dict[str, list[CandidateLine[Item]]] = {name: [] for name in HEADINGS}
    if decisions and decisions.given:
        by_section["decisions"].append(_decision_lines(decisions))
    by_section["card"] += map(_card_line, card_lines)
    for rule in rules:
        by_section[_kind_of(rule)].append(_rule_line(rule))
    by_section["own"] += map(_own_line, own)
    by_section["memory"] += map(_memory_line, memories)
    by_section["file"] += _file_lines(files)
    headings = [HEADINGS[name] for name, lines in by_section.items() if lines]
    most = sys.maxsize
    # Each character has at least one byte, so more characters than this never fit.
    chars = token_budget * tokens.BYTES_PER_TOKEN
    half = Budget(most, most, token_budget // 2)
    kinds = dict.fromkeys(HEADINGS, Budget(most, most))
    kinds |= dict.fromkeys((*SECTIONS, *UNREVIEWED_KINDS, "own"), half)
    kinds["card"] = Budget(most, most, int(token_budget * CARD_SHARE))
    return selection.select(
        [line for lines in by_section.values() for line in lines],
        total=Budget(items=most, chars=chars, tokens=token_budget),
        kinds=kinds,
        opening="\n".join([OPENING, *headings]),
    )


def write(chosen: Selection[Item], token_budget: int) -> str:
    """Write the selected lines under their headings; one sentence if nothing fits the task."""
    if not chosen.lines:
        is_short = tokens.estimate(NOTHING) <= token_budget and not chosen.skipped
        return NOTHING if is_short else ""
    written = [OPENING]
    for kind, lines in groupby(chosen.lines, key=lambda line: line.kind):
        written += [HEADINGS[kind], *(line.text for line in lines)]
    return "".join(f"{line}\n" for line in written)


def _rule_line(rule: RelevantRule) -> CandidateLine[Item]:
    entry = rule.entry
    mark = freshness.doubt_note(
        entry.content,
        is_contested=freshness.is_in_doubt(entry),
        files=freshness.changed_files(entry),
    )
    votes = f"helpful={entry.helpful} harmful={entry.harmful}"
    category = name_or_string(entry.category)
    content = json_string(entry.content, MAX_RULE)
    line = f"- [rule] {entry.label} ({category}) {content} ({votes}){mark}"
    return CandidateLine(rule, _kind_of(rule), len(line), lambda: line)


def _kind_of(rule: RelevantRule) -> str:
    """Return under which heading a rule stands."""
    if entry_list.is_accepted(rule.entry):
        return rule.section
    return "unreviewed_other" if rule.section == "other" else "unreviewed"


def _decision_lines(decisions: Decisions) -> CandidateLine[Item]:
    text = "\n".join(map(decision_lines.write, decisions.given))
    return CandidateLine(decisions, "decisions", len(text), lambda: text)


def _card_line(line: CardLine) -> CandidateLine[Item]:
    return CandidateLine(line, "card", len(line.text), lambda: line.text)


def _own_line(lesson: OwnLesson) -> CandidateLine[Item]:
    line = f"- [rule] {json_string(lesson.content, MAX_RULE)}"
    return CandidateLine(lesson, "own", len(line), lambda: line)


def _memory_line(memory: RelevantMemory) -> CandidateLine[Item]:
    line = memory.line.text
    return CandidateLine(memory, "memory", len(line), lambda: line)


def _file_lines(files: FileList) -> Iterator[CandidateLine[Item]]:
    """Yield the lines of the files as one, which a budget takes or leaves."""
    if text := files.text:
        yield CandidateLine(files, "file", len(text), lambda: text)


def describe_lanes(hit: search.MemoryHit) -> str:
    """Say which search lanes found the hit, and at which place.

    An example is "found by words (number 1) and meaning (number 3)".
    """
    if not hit.lanes:
        return "one of the few memories of this project"
    names = {"keyword": "words", "semantic": "meaning"}
    lanes = [
        f"{names[name]} (number {lane.rank})"
        for name, lane in sorted(hit.lanes.items())
    ]
    return f"found by {' and '.join(lanes)}"


def link_files(hits: Iterable[search.MemoryHit]) -> list[FileOfMemories]:
    """Return the files of the memories, with how the memories link to them."""
    scores: dict[str, float] = defaultdict(float)
    links: dict[str, list[MemoryFile]] = defaultdict(list)
    for hit in hits:
        for link in hit.memory.file_links.all():
            path = link.file.file_path
            scores[path] += hit.score * RELATION_WEIGHT[link.relation_type]
            links[path].append(link)
    return [
        FileOfMemories(
            path,
            scores[path],
            tuple(dict.fromkeys(str(link.memory_id) for link in links[path])),
            _link_reason(links[path]),
        )
        for path in scores
        if file_paths.is_inside(path) and not links[path][0].file.is_gone
    ]


def _link_reason(links: Sequence[MemoryFile]) -> str:
    """Say how the memories above link to the file, and when the file was last seen."""
    counts = Counter(link.relation_type for link in links)
    relations = [f"{relation} by {n}" for relation, n in sorted(counts.items())]
    last_seen = links[0].file.last_seen_at
    return (
        f"{', '.join(relations)} of the memories above, last seen {last_seen:%Y-%m-%d}"
    )
