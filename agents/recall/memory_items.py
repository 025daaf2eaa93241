"""Write what was found as items: one text, a date, and why it was given."""

from __future__ import annotations

from agents.recall.recalled_memory import RecalledItem
from context.task_context import describe_lanes
from context.task_rules import RelevantRule
from conversations.models import Invocation
from memories.models import Memory
from memories.read.search import MemoryHit
from playbook.entries import freshness


def item_of_fact(hit: MemoryHit) -> RecalledItem:
    return _item_of_memory(hit, hit.memory.content)


def item_of_episode(hit: MemoryHit) -> RecalledItem:
    return _item_of_memory(hit, _describe_episode(hit.memory))


def _item_of_memory(hit: MemoryHit, text: str) -> RecalledItem:
    memory = hit.memory
    at = memory.occurred_at or memory.created_at
    return RecalledItem(str(memory.pk), text, at, describe_lanes(hit), hit.score)


def _describe_episode(memory: Memory) -> str:
    """Return goal, steps, outcome and lessons, each on lines of its own."""
    parts = {
        "Goal": memory.goal or memory.content,
        "Steps": "\n".join(f"- {step}" for step in memory.steps),
        "Outcome": memory.outcome,
        "Lessons": memory.lessons,
    }
    return "\n".join(f"{name}: {text}" for name, text in parts.items() if text)


def item_of_invocation(row: Invocation) -> RecalledItem:
    """Return question, summary and result; a summary that repeats one of them has it alone."""
    lines = [
        f"Asked: {row.query}" if row.query not in row.summary else "",
        row.summary,
        f"Result: {row.result}" if row.result not in row.summary else "",
    ]
    text = "\n".join(filter(None, lines))
    why = f"invocation {row.seq} of this conversation"
    return RecalledItem(str(row.pk), text, row.created_at, why)


def item_of_rule(rule: RelevantRule) -> RecalledItem:
    """Return the rule, with a note if it is in doubt (decision 0011)."""
    entry = rule.entry
    note = freshness.doubt_note(
        entry.content,
        is_contested=freshness.is_in_doubt(entry),
        files=freshness.changed_files(entry),
    )
    text = f"{entry.content}{note}"
    return RecalledItem(str(entry.pk), text, entry.updated_at, rule.reason, rule.score)
