"""Write the lessons of a task into its episode, for the next agent with the same goal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ace.models import AceRun
from common.caller import Caller
from common.text.plain_text import clip
from memories.lifecycle import update
from memories.models import Memory
from memories.store import episode_text
from memories.store.drafts import MAX_CONTENT, MAX_PART
from playbook.lessons.lesson import Kind
from playbook.rule_text import unsafe_phrases

MAX_LESSONS = 10


def write_lessons(
    run: AceRun, lessons: Sequence[Mapping[str, Any]], caller: Caller
) -> None:
    """Write the lessons into the run's episode; a second call changes nothing.

    These are what the calls and checks of the task show. What somebody says waits for a
    decision, and what would harm whoever follows it is left out. A purged or deleted episode
    stays as it is.
    """
    memory = run.memory and Memory.objects.filter(pk=run.memory.pk).first()
    if memory is None or memory.kind != Memory.Kind.EPISODE or memory.deleted_at:
        return
    kept = [lesson["content"] for lesson in lessons if _is_for_everybody(lesson)][
        :MAX_LESSONS
    ]
    text = clip("\n".join(kept), MAX_PART)
    if text and text != memory.lessons:
        whole = episode_text.compose(memory.goal, memory.steps, memory.outcome, text)
        changes = {"lessons": text, "content": clip(whole, MAX_CONTENT)}
        update.update_memory(memory, changes, caller, None)


def _is_for_everybody(lesson: Mapping[str, Any]) -> bool:
    is_shown = lesson["kind"] in (Kind.FIX, Kind.CHECK, Kind.ANSWER)
    return is_shown and not unsafe_phrases.find_phrases(lesson["content"])
