"""Write the events of a run as the chunks of a stream, and a run as one answer."""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, AsyncIterator, Iterator
from typing import Any

from agents.loop.events import (
    ActionChosen,
    AgentEvent,
    ConfirmationNeeded,
    RunFinished,
    StepDone,
    TextPiece,
)
from agents.models import AgentRun

Chunk = dict[str, Any]


async def write_events(
    run: AgentRun, events: AsyncIterable[AgentEvent | None]
) -> AsyncIterator[str]:
    """Yield server-sent events; a comment for each None, so that proxies keep the stream."""
    chunks = ChunkWriter(run)
    yield f": run {run.pk}\n\n"
    async for event in events:
        if event is None:
            yield ": keep-alive\n\n"
            continue
        for chunk in chunks.write(event):
            data = json.dumps(chunk, ensure_ascii=False)
            yield f"event: {chunk['message_type']}\ndata: {data}\n\n"


class ChunkWriter:
    """Turns events into chunks (seed 004); the chunk that ends the dialog counts tokens."""

    def __init__(self, run: AgentRun) -> None:
        self.run = run
        self.answered = 0  # characters of the answer that were sent

    def write(self, event: AgentEvent) -> Iterator[Chunk]:
        if isinstance(event, TextPiece):
            self.answered += len(event.text) if event.kind == "answer" else 0
            yield _chunk(event.kind, event.text, event.message_id, event.is_last)
        elif isinstance(event, ActionChosen):
            call = event.call
            yield _chunk("action", call.action, event.message_id) | {
                "arguments": call.arguments
            }
        elif isinstance(event, StepDone):
            yield _chunk("observation", event.step.observation, event.message_id)
        elif isinstance(event, ConfirmationNeeded):
            call = event.call
            yield self._last("confirm", call.action, event.message_id) | {
                "arguments": call.arguments
            }
        elif isinstance(event, RunFinished):
            yield self._end(event)

    def _end(self, event: RunFinished) -> Chunk:
        message_id = f"{self.run.pk}-end"
        if event.answer is not None:
            content = "" if self.answered else event.answer
            return self._last("answer", content, message_id)
        error = event.error or {
            "type": "cancelled",
            "message": "The run was cancelled.",
        }
        return self._last("error", error["message"], message_id) | {"error": error}

    def _last(self, kind: str, content: str, message_id: str) -> Chunk:
        return _chunk(kind, content, message_id) | {
            "end_of_dialog": True,
            "run_id": str(self.run.pk),
            "tokens": _tokens(self.run),
            "memory": _memory(self.run),
        }


def _chunk(kind: str, content: str, message_id: str, is_last: bool = True) -> Chunk:
    return {
        "message_type": kind,
        "content": content,
        "end_of_message": is_last,
        "end_of_dialog": False,
        "message_id": message_id,
    }


def answer_of(run: AgentRun) -> dict[str, Any]:
    """Return a run as AgentResponse; `steps` leaves out those that the caller sent."""
    return {
        "run_id": str(run.pk),
        "status": run.status,
        "steps": [step for step in run.steps if not step["is_history"]],
        "answer": run.answer if run.status == AgentRun.RunStatus.DONE else None,
        "error": run.error,
        "iterations": run.iterations,
        "tokens": _tokens(run),
        "memory": _memory(run),
        "pending_call": run.pending_call,
    }


def _tokens(run: AgentRun) -> dict[str, int]:
    return {"prompt": run.prompt_tokens, "answer": run.answer_tokens}


def _memory(run: AgentRun) -> dict[str, Any]:
    tiers = ("facts", "episodes", "entries", "digest")
    given = {**{tier: [] for tier in tiers}, "error": None, **run.memory}
    given["conversation"] = given.pop("invocations", [])
    return given
