"""Find the texts of an answer that an agent is not given: they order dangerous things.

A person can read them in the console. What only names a place, such as a foreign host, is
no order; a rule that a person accepted, and what the caller itself stored, stay.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from common.caller import Caller
from conversations.models import Message
from memories.lifecycle.ownership import is_own
from memories.models import Memory
from playbook.models import PlaybookEntry
from playbook.reading import acceptance
from playbook.rule_text.unsafe_phrases import is_unsafe

PARTS = ("title", "content", "goal", "result", "feedback", "outcome", "lessons", "key")


def note_on(count: int) -> list[str]:
    """Return the note of an answer without `count` results."""
    if not count:
        return []
    results, them = ("result holds", "it") if count == 1 else ("results hold", "them")
    return [f"{count} {results} unsafe text; a person can read {them} in the console."]


def find_memories(caller: Caller, memories: Iterable[Memory]) -> set[uuid.UUID]:
    """Return the ids of memories of others that are unsafe."""
    return {m.pk for m in memories if is_unsafe_memory(m, caller)}


def is_unsafe_memory(memory: Memory, caller: Caller) -> bool:
    return is_unsafe(_text_of(memory)) and not is_own(memory, caller)


def find_rules(entries: Iterable[PlaybookEntry]) -> set[uuid.UUID]:
    """Return the ids of unsafe rules that no person accepted."""
    unsafe = {entry.pk for entry in entries if is_unsafe(entry.content)}
    if not unsafe:
        return unsafe
    rows = PlaybookEntry.objects.filter(pk__in=unsafe)
    accepted = rows.annotate(is_of_person=acceptance.of_person())
    return unsafe - set(accepted.filter(is_of_person=True).values_list("pk", flat=True))


def find_messages(messages: Iterable[Message]) -> set[uuid.UUID]:
    return {message.pk for message in messages if is_unsafe(message.text)}


def _text_of(memory: Memory) -> str:
    value = memory.value if isinstance(memory.value, str) else ""
    return "\n".join(filter(None, [*(getattr(memory, p) for p in PARTS), value]))
