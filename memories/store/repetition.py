"""Give an original what a repetition of it adds, so that a duplicate hides nothing.

Agent, source, confidence and provenance of both rows stay as they were written.
"""

from __future__ import annotations

import json
from typing import Any

from common.caller import Caller
from memories.models import Memory, MemoryChange
from memories.store import history, search_columns, vectors
from memories.store.drafts import MAX_PART
from projects import search_language

MAX_TAGS, MAX_METADATA = 100, 64 * 1024  # of an original; more stays with the duplicate


def keep_additions(original: Memory, copy: Memory, caller: Caller) -> str:
    """Add the goal, tags, metadata keys and longer life of a duplicate to its locked original.

    Return what was added, in words, or "".
    """
    added = _find_additions(original, copy)
    if not added:
        return ""
    before = history.snapshot(original)
    for name, value in added.items():
        setattr(original, name, value)
    if SEARCHED & added.keys():
        language = search_language.pin_language(original.project_id)
        search_columns.fill(original, language)
    if original._state.adding:  # a new fact, which its writer inserts next
        return ""
    original.version += 1
    original.save(update_fields=[*added, "version", "updated_at", "content_tsv"])
    if "goal" in added:
        original.vectors.all().delete()
        vectors.embed_later(original.project_id)
    words = ", ".join(LABELS[name] for name in added)
    note = f"a repetition ({copy.pk}) added {words}"
    action = MemoryChange.Action.UPDATE
    history.record(caller, action, original, before=before, reason=note)
    return f"The original got the {words} of this repetition."


SEARCHED = {"goal", "tags"}
LABELS = {
    "goal": "goal",
    "tags": "tags",
    "metadata": "metadata",
    "expires_at": "longer life",
}


def _find_additions(original: Memory, copy: Memory) -> dict[str, Any]:
    """Return the columns of the original that change, with their new values."""
    tags = list(dict.fromkeys([*original.tags, *copy.tags]))
    metadata = {**copy.metadata, **original.metadata}
    added: dict[str, Any] = {}
    goals = [*original.goal.splitlines(), *copy.goal.splitlines()]
    goal = "\n".join(dict.fromkeys(goals))
    if goal != original.goal and len(goal) <= MAX_PART:
        added["goal"] = goal
    if tags != list(original.tags) and len(tags) <= MAX_TAGS:
        added["tags"] = tags
    if metadata != original.metadata and len(json.dumps(metadata)) <= MAX_METADATA:
        added["metadata"] = metadata
    if original.expires_at and _lasts_longer(copy, original):
        added["expires_at"] = copy.expires_at
    return added


def _lasts_longer(copy: Memory, original: Memory) -> bool:
    if copy.expires_at is None:
        return True
    assert original.expires_at
    return copy.expires_at > original.expires_at
