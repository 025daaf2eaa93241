"""Write a memory as one short line of a digest that is safe in a prompt."""

from __future__ import annotations

import uuid
from functools import partial

from common.text.quote import json_string, json_value, name_or_string
from context.selection import CandidateLine
from memories.models import Memory

MAX_SNIPPET = 600  # characters of a content
MAX_REFS = 5  # references that a line names
# The channel, thread and conversation of a memory: (name in the line, provenance key).
ORIGINS = (
    ("channel", "channel"),
    ("thread", "thread_id"),
    ("conversation", "conversation_id"),
)


# Kinds of memories whose lines show how sure the writer was.
WITH_CONFIDENCE = (Memory.Kind.FACT, Memory.Kind.PROCEDURE)
# The columns of a memory that its line uses, and by which its lessons are looked up.
COLUMNS = (
    "project",
    "lessons",
    "kind",
    "sensitivity",
    "title",
    "content",
    "key",
    "value",
    "confidence",
    "occurred_at",
    "source",
    "provenance",
)


def of_memory(memory: Memory) -> CandidateLine[Memory]:
    """Return the line of a memory; the text is written when it is first used.

    This is the format of the text, in which each foreign text is a JSON string:
    `- [kind] <id> (<sensitivity>) <header> — "<snippet>" (<provenance>)`
    """
    return CandidateLine(
        memory, memory.kind, len(head(memory.kind, memory.pk)), partial(render, memory)
    )


def head(kind: str, memory_id: uuid.UUID) -> str:
    """Return the first part of a line, which is never cut."""
    return f"- [{kind}] {memory_id}"


def render(memory: Memory) -> str:
    opening = f"{head(memory.kind, memory.pk)} ({memory.sensitivity})"
    parts = [opening, _header(memory)]
    opening = " ".join(filter(None, parts))
    snippet = json_string(memory.content, MAX_SNIPPET)
    return f"{opening} — {snippet} ({_provenance(memory)})"


def _header(memory: Memory) -> str:
    if memory.kind == Memory.Kind.FACT:
        return " ".join(_fact(memory))
    if memory.kind == Memory.Kind.EPISODE:
        at = memory.occurred_at
        return f"occurred_at={at.isoformat()}" if at else ""
    parts = [f"title={json_string(memory.title)}"] if memory.title else []
    return " ".join(parts + _confidence(memory))


def _fact(memory: Memory) -> list[str]:
    parts = [f"key={json_string(memory.key)}", f"value={json_value(memory.value)}"]
    return parts + _confidence(memory)


def _confidence(memory: Memory) -> list[str]:
    if memory.kind not in WITH_CONFIDENCE or memory.confidence is None:
        return []
    return [f"conf={memory.confidence:.2f}"]


def _provenance(memory: Memory) -> str:
    known = memory.provenance
    parts = [f"prov={name_or_string(memory.source)}"]
    parts += [
        f"{name}={json_value(known[key])}" for name, key in ORIGINS if known.get(key)
    ]
    refs = known.get("refs")
    if isinstance(refs, list) and refs:
        named = ", ".join(json_value(ref) for ref in refs[:MAX_REFS])
        parts.append(
            f"refs={len(refs)}({named}{', …' if len(refs) > MAX_REFS else ''})"
        )
    return " ".join(parts)
