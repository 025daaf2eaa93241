"""Write a memory as one short line of a digest that is safe in a prompt."""

from __future__ import annotations

import json
import uuid
from functools import partial
from typing import Any

from common.text import prompt_injection
from context.selection import CandidateLine
from memories.models import Memory

MAX_SNIPPET = 600  # characters of a content
MAX_FIELD = 200  # characters of a title, a key or a value
MAX_READ = 5_000  # characters that are read before a text is shortened
MAX_REFS = 5  # references that a line names
# The channel, thread and conversation of a memory: (name in the line, provenance key).
ORIGINS = (
    ("channel", "channel"),
    ("thread", "thread_id"),
    ("conversation", "conversation_id"),
)


# The columns of a memory that its line uses.
COLUMNS = (
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

    This is the format of the text:
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
    return f'{opening} — "{_snippet(memory.content)}" ({_provenance(memory)})'


def _header(memory: Memory) -> str:
    if memory.kind == Memory.Kind.FACT:
        return " ".join(_fact(memory))
    if memory.kind == Memory.Kind.EPISODE:
        at = memory.occurred_at
        return f"occurred_at={at.isoformat()}" if at else ""
    return f"title={flatten(memory.title)}" if memory.title else ""


def _fact(memory: Memory) -> list[str]:
    value = json.dumps(memory.value, ensure_ascii=False, sort_keys=True)
    parts = [f"key={flatten(memory.key)}", f"value={flatten(value)}"]
    if memory.confidence is not None:
        parts.append(f"conf={memory.confidence:.2f}")
    return parts


def _provenance(memory: Memory) -> str:
    known = memory.provenance
    parts = [f"prov={memory.source}"]
    parts += [
        f"{name}={flatten(known[key])}" for name, key in ORIGINS if known.get(key)
    ]
    refs = known.get("refs")
    if isinstance(refs, list) and refs:
        named = ", ".join(flatten(ref) for ref in refs[:MAX_REFS])
        parts.append(
            f"refs={len(refs)}({named}{', …' if len(refs) > MAX_REFS else ''})"
        )
    return " ".join(parts)


def _snippet(content: str) -> str:
    return flatten(content, MAX_SNIPPET)


def flatten(value: Any, length: int = MAX_FIELD) -> str:
    """Write any value on one line, so that no part of the value can start a line.

    Prompt injections are defused before white space is collapsed, because some tags
    of speakers are found only at the start of a line.
    """
    text = " ".join(prompt_injection.defuse(str(value)[:MAX_READ]).split())
    return text if len(text) <= length else text[: length - 1] + "…"
