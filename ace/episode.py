"""Shape the memory of a finished task as an episode: goal, steps, outcome and lessons.

The lessons come later, from the reflector (`ace.lessons.episode_lessons`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

from ace import errors
from ace.task.analysis import TaskAnalysis
from ace.task.task import Task, ToolCall, canonical_json
from ace.task.task_outcome import TaskOutcome
from common.text.plain_text import clip
from memories.models import Memory
from memories.store import episode_text
from memories.store.drafts import MAX_CONTENT, MAX_PART, Draft

MAX_STEPS = 50  # key actions of an episode
MAX_ARGUMENTS, MAX_ERROR = 300, 600  # characters of one step


@dataclass(frozen=True)
class EpisodeSource:
    """Where an episode comes from: the user, the conversation, and what else to keep.

    `steps` are the key actions, if the calls of the task are not.
    """

    user_id: str = ""
    conversation_id: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    steps: Sequence[str] = ()


def shape(draft: Draft, analysis: TaskAnalysis, source: EpisodeSource) -> Draft:
    """Return the draft of a finished task as the draft of an episode."""
    task, outcome = analysis.task, analysis.outcome
    steps = list(source.steps or map(_step, _key_calls(task.calls)))[:MAX_STEPS]
    said = _outcome(task, outcome)
    return replace(
        draft,
        kind=Memory.Kind.EPISODE.value,
        content=clip(episode_text.compose(draft.goal, steps, said), MAX_CONTENT),
        steps=steps,
        outcome=said,
        user_id=source.user_id,
        created_in_session_id=source.conversation_id,
        # `outcome` is how the task ended in one word; the memory's own outcome is a text.
        metadata={**draft.metadata, **source.metadata, "outcome": outcome.value},
    )


def read_past_task(memory: Memory) -> Memory:
    """Return an episode, or a copy of the record of a finished task as an episode shows it.

    What somebody said of the task is left out: it is learned from, and may wait for a person.
    """
    if memory.kind == Memory.Kind.EPISODE:
        return memory
    shown = copy(memory)
    calls = memory.tool_usage[:MAX_STEPS]
    shown.steps = memory.steps or [
        _describe_call(call.get("tool_name", ""), call.get("arguments"))
        for call in calls
    ]
    shown.outcome = ": ".join(filter(None, [memory.outcome_word, memory.result]))
    shown.content = episode_text.compose(
        memory.goal, shown.steps, shown.outcome, memory.lessons
    )
    return shown


def _outcome(task: Task, outcome: TaskOutcome) -> str:
    known = [] if outcome.value == "unknown" else [outcome.value]
    return clip(": ".join(filter(None, [*known, task.result.strip()])), MAX_PART)


def _key_calls(calls: Sequence[ToolCall]) -> list[ToolCall]:
    """Return at most MAX_STEPS calls: what failed and what came after it, then the first ones.

    The next agent needs most what went wrong, and what was then done about it.
    """
    first = sorted(range(len(calls)), key=lambda at: not _is_about_failure(calls, at))
    return [calls[at] for at in sorted(first[:MAX_STEPS])]


def _is_about_failure(calls: Sequence[ToolCall], at: int) -> bool:
    return any(call.has_failed for call in calls[max(at - 1, 0) : at + 1])


def _step(call: ToolCall) -> str:
    """Return a key action in one line; a failure with the lines that tell its errors."""
    action = _describe_call(call.tool_name, call.arguments)
    if not call.has_failed:
        return action
    told = " | ".join(errors.choose_lines(call.result))
    return f"{action} failed: {clip(told, MAX_ERROR)}"


def _describe_call(name: str, arguments: Any) -> str:
    written = canonical_json(arguments) if arguments else ""
    return f"{name} {clip(written, MAX_ARGUMENTS)}".strip()
