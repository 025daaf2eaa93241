"""Write what was found as items: one text, a date, and why it was given."""

from __future__ import annotations

from agents.recall.recalled_memory import RecalledItem
from context.digest.assemble import IncludedMemory
from context.task_context import describe_lanes
from context.task_rules import RelevantRule
from conversations.models import Invocation
from memories.models import Memory
from memories.read.search import MemoryHit
from playbook.entries import freshness
from playbook.reading import entry_list

# Why the digest has a memory, by the name of the source.
WHY = {
    "structured": "pinned by the settings",
    "keyword": "found by words",
    "semantic": "found by meaning",
}
UNREVIEWED = " (learned from tasks; nobody has reviewed it)"


def item_of_hit(hit: MemoryHit) -> RecalledItem:
    """Return a fact or an episode."""
    memory = hit.memory
    is_fact = memory.kind == Memory.Kind.FACT
    return RecalledItem(
        "fact" if is_fact else "episode",
        str(memory.pk),
        memory.content if is_fact else _describe_episode(memory),
        memory.occurred_at or memory.created_at,
        describe_lanes(hit),
        hit.score,
        str(memory.pk),
    )


def _describe_episode(memory: Memory) -> str:
    """Return goal, steps, outcome and lessons, each on lines of its own."""
    parts = {
        "Goal": memory.goal or memory.content,
        "Steps": "\n".join(f"- {step}" for step in memory.steps),
        "Outcome": memory.outcome,
        "Lessons": memory.lessons,
    }
    return "\n".join(f"{name}: {text}" for name, text in parts.items() if text)


def item_of_digest(line: IncludedMemory) -> RecalledItem:
    """Return a line of the digest, which has the id of its memory."""
    why = " and ".join(WHY[source] for source in line.sources)
    return RecalledItem("memory", str(line.memory.pk), line.text, None, why)


def item_of_rule(rule: RelevantRule) -> RecalledItem:
    """Return the rule, with a note if it is in doubt (decision 0011) or unreviewed."""
    entry = rule.entry
    note = freshness.doubt_note(
        entry.content,
        is_contested=freshness.is_in_doubt(entry),
        files=freshness.changed_files(entry),
    )
    if not (note or entry_list.is_accepted(entry)):
        note = UNREVIEWED
    return RecalledItem(
        "rule",
        str(entry.pk),
        f"{entry.content}{note}",
        entry.updated_at,
        rule.reason,
        rule.score,
        entry.label,
    )


def item_of_invocation(row: Invocation) -> RecalledItem:
    """Return question, summary and result; a summary that repeats one of them has it alone."""
    lines = [
        f"Asked: {row.query}" if row.query not in row.summary else "",
        row.summary,
        f"Result: {row.result}" if row.result not in row.summary else "",
    ]
    text = "\n".join(filter(None, lines))
    why = f"invocation {row.seq} of this conversation"
    return RecalledItem("invocation", str(row.pk), text, row.created_at, why)
