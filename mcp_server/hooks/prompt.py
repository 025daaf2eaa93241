"""What is surely about a prompt: decisions, rules and lessons. For most prompts nothing."""

from __future__ import annotations

import uuid
from collections.abc import Collection

from agents.tiers.shared_words import key_words
from common.caller import Caller
from context import followed_lessons, memory_lines, task_records
from context.headings import HEADINGS, ONLY_RULES
from inference import tokens
from mcp_server.hooks import (
    branch_files,
    decision_lines,
    given_line,
    lesson_lines,
    rule_lines,
)
from mcp_server.hooks.branch_files import BranchFiles
from mcp_server.hooks.given_line import GivenLine, Section
from mcp_server.hooks.hook_event import HookEvent
from memories import scopes
from memories.models import Memory
from memories.read import search
from memories.read.search import MemoryHit, MemorySearch
from playbook.reading import entry_list, relevance
from projects.models import Project

MAX_TOKENS = 500
OPENING = f"Known of this; {ONLY_RULES}"
OVERHEAD = given_line.FENCE_TOKENS + tokens.estimate(f"{OPENING}\n")
# Of its subject; a shorter prompt, such as "yes, go on", has none of its own.
MIN_WORDS = 2
MAX_PROMPT = 2_000  # characters that are read; what follows is mostly pasted
MAX_RULES, MAX_LESSONS = 2, 2
MAX_HITS = 10  # hits of a search, some of which are the session's own
# The cosines, on the scale of the bundled model, from which on a rule or a memory is pushed.
# A rule of the playbook was reviewed, so its gate is lower.
RULE_GATE, LESSON_GATE = 0.55, 0.60
# So many key words of the prompt, and this share of them, must stand in a memory, too.
MIN_SHARED, SHARED = 3, 0.4
# The task may have been finished before, in other words: most of the prompt's are in the record.
RECORD_SHARED, SAME_TASK, SAME_TASK_GATE = 2, 0.75, 0.4
MAX_READ = 10_000  # characters of a memory


def find(project: Project, event: HookEvent, caller: Caller) -> list[Section]:
    """Return what passes a high gate for the prompt; nothing if the model does not answer."""
    prompt = event.prompt[:MAX_PROMPT]
    if len(key_words(prompt)) < MIN_WORDS:
        return []
    decisions = decision_lines.find(project, event, caller, max_tokens=MAX_TOKENS)
    files = branch_files.read(project, event, caller)
    rules = _find_rules(project, prompt, caller, files)
    sections = rule_lines.sections(rules, HEADINGS["relevant"], MAX_TOKENS)
    given = given_line.lines_in(sections, MAX_TOKENS - OVERHEAD)
    memories = _find_memories(project, prompt, caller, given_line.ids_of(given))
    others = lesson_lines.leave_out_own(memories, event.session)[:MAX_LESSONS]
    lines = memory_lines.build(others, [line.text for line in given])
    lessons = lesson_lines.write(lines, files)
    if not (decisions or rules or lessons):
        return []
    return [
        *decisions,
        *sections,
        Section(HEADINGS["memory"], lessons, MAX_TOKENS),
    ]


def _find_rules(
    project: Project, prompt: str, caller: Caller, files: BranchFiles
) -> list[GivenLine]:
    rows = entry_list.find(project, entry_list.EntryFilters(), caller)
    rows = relevance.without_answers(rows)
    near = relevance.measure(project, rows, prompt)
    passing = [
        (found.similarity, pk)
        for pk, found in near.by_id.items()
        if found.is_relevant and found.similarity >= RULE_GATE
    ]
    best = [pk for _, pk in sorted(passing, reverse=True)[:MAX_RULES]]
    return rule_lines.load(project, best, caller, files)


def _find_memories(
    project: Project, prompt: str, caller: Caller, rules: Collection[uuid.UUID]
) -> list[Memory]:
    request = MemorySearch(
        prompt,
        limit=MAX_HITS,
        cutoff="auto",
        extra_scopes=scopes.read_too(None, project, caller),
    )
    hits = search.find(project, request, caller).hits
    words = key_words(prompt)
    passing = [hit for hit in hits if _passes(hit, words)]
    passing = followed_lessons.choose_of_hits(passing, caller, rules=rules)
    ranked = task_records.rank_last(project, prompt, passing)
    return [hit.memory for hit in ranked.hits]


def _passes(hit: MemoryHit, words: set[str]) -> bool:
    """Whether a memory is near by its meaning, and shares words with the prompt.

    The record of a finished task may be less near if it has most of the words.
    """
    semantic = hit.lanes.get("semantic")
    if not (hit.is_relevant and semantic):
        return False
    memory = hit.memory
    parts = (memory.content, memory.goal, memory.result, memory.lessons)
    shared = len(words & key_words("\n".join(parts)[:MAX_READ]))
    is_same = shared >= max(MIN_SHARED, SAME_TASK * len(words))
    if memory.result and is_same and semantic.score >= SAME_TASK_GATE:
        return True
    least = RECORD_SHARED if memory.result else MIN_SHARED
    is_shared = shared >= max(least, SHARED * len(words))
    return is_shared and semantic.score >= LESSON_GATE
