"""Shape the memory of a finished task as an episode: goal, steps, outcome and lessons.

The lessons come later, from the reflector (`ace.reflect.episode_lessons`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ace.rules.outcome.task_outcome import TaskOutcome
from ace.rules.task import Task, ToolCall, canonical_json
from common.text.plain_text import clip
from memories.models import Memory
from memories.store import episode_text
from memories.store.drafts import MAX_CONTENT, MAX_PART, Draft

MAX_STEPS = 50  # key actions of an episode
MAX_ARGUMENTS, MAX_ERROR = 300, 200  # characters of one step


@dataclass(frozen=True)
class EpisodeSource:
    """Where an episode comes from: the user, the conversation, and what else to keep.

    `steps` are the key actions, if the calls of the task are not.
    """

    user_id: str = ""
    conversation_id: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    steps: Sequence[str] = ()


def shape(
    draft: Draft, task: Task, outcome: TaskOutcome, source: EpisodeSource
) -> Draft:
    """Return the draft of a finished task as the draft of an episode."""
    steps = list(source.steps or map(_step, task.calls))[:MAX_STEPS]
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


def _outcome(task: Task, outcome: TaskOutcome) -> str:
    known = [] if outcome.value == "unknown" else [outcome.value]
    return clip(": ".join(filter(None, [*known, task.result.strip()])), MAX_PART)


def _step(call: ToolCall) -> str:
    """Return a key action in one line; a failure with the first line of its error."""
    arguments = canonical_json(call.arguments) if call.arguments else ""
    action = f"{call.tool_name} {clip(arguments, MAX_ARGUMENTS)}".strip()
    if not call.has_failed:
        return action
    error = next((line for line in call.result.splitlines() if line.strip()), "")
    return f"{action} failed: {clip(error.strip(), MAX_ERROR)}"
