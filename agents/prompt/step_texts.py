"""The steps of a run in its prompt: as fenced texts, or as messages of function calling."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from agents.prompt.fit import Block
from agents.steps import PARSE_ERROR, AgentStep
from common.secret_masks import mask_value
from inference.language.fence import FencedText, make_safe, write_fence

CONDENSED = "earlier steps, condensed"
# What endpoints accept as the name of a function.
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]+")
MAX_NAME = 64


def step_blocks(steps: Sequence[AgentStep], first: int) -> list[Block]:
    """Return a block for each step: what the agent did, and what it observed.

    `first` is the number of the first step.
    """
    return [_step_block(step, number) for number, step in enumerate(steps, first)]


def _step_block(step: AgentStep, number: int) -> Block:
    texts = (
        FencedText(f"step {number}, thought and action", _describe_step(step)),
        FencedText(f"step {number}, observation", step.observation),
    )
    return tuple(map(make_safe, texts))


def _describe_step(step: AgentStep) -> str:
    thought = f"Thought: {step.thought}"
    if step.action == PARSE_ERROR:
        return f"{thought}\n(the answer of this step could not be read)"
    return f"{thought}\nAction: {step.action}\nArgs: {_to_json(step.arguments)}"


def step_messages(
    steps: Sequence[AgentStep], blocks: Sequence[Block], marker: str
) -> Iterator[dict[str, Any]]:
    """Yield the messages of steps, the observations as their blocks have them.

    A step whose answer could not be read has no call; what is wrong is told by the user.
    """
    for number, (step, block) in enumerate(zip(steps, blocks, strict=True)):
        did, observation = block
        content = write_fence([observation], marker)
        if step.action == PARSE_ERROR:
            yield {"role": "assistant", "content": did.text}
            yield {"role": "user", "content": content}
            continue
        call_id = step.call_id or f"step_{number}"
        yield _call_message(step, did, call_id)
        yield {"role": "tool", "tool_call_id": call_id, "content": content}


def _call_message(step: AgentStep, did: FencedText, call_id: str) -> dict[str, Any]:
    """Return the message of a call; one that had to be cut has its text, and no arguments."""
    thought = did.text
    arguments: dict[str, Any] = {}
    if did.text == make_safe(FencedText("", _describe_step(step))).text:
        thought = make_safe(FencedText("", step.thought)).text
        arguments, _ = mask_value(step.arguments)
    function = {"name": _function_name(step.action), "arguments": _to_json(arguments)}
    return {
        "role": "assistant",
        "content": thought,
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }


def _function_name(action: str) -> str:
    return _NOT_IN_NAMES.sub("_", action)[:MAX_NAME] or "_"


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
