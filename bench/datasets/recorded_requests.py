"""Recorded runs and sessions as requests to complete a task."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ace import recorded_tasks
from bench.datasets.recorded_sessions import session_files
from bench.judge.session_calls import (
    RecordedSession,
    read_sessions,
)

AGENT = "benchmark"
MAX_CALLS = 500  # of one request


@dataclass(frozen=True)
class RecordedRequest:
    """A request, the set that it comes from, and its name in the set."""

    source: str
    name: str
    request: dict[str, Any]


def read_all(data: Path) -> Iterator[RecordedRequest]:
    """Yield a request for every recorded run, then for every task of the sessions."""
    for path in sorted((data / "traces").glob("*.jsonl")):
        for number, row in enumerate(path.read_text(encoding="utf-8").splitlines()):
            if row.strip():
                request = recorded_tasks.to_request(json.loads(row), agent_id=AGENT)
                yield RecordedRequest(path.stem, f"{path.stem}:{number}", request)
    for session in read_sessions(session_files(data)):
        yield from _tasks_of(session)


def _tasks_of(session: RecordedSession) -> Iterator[RecordedRequest]:
    """Yield a request for each task, as the service makes it of a transcript."""
    for number, task in enumerate(session.tasks):
        calls = [
            {
                "tool_name": call.tool,
                "arguments": dict(call.arguments),
                "result": call.result,
                "status": "error" if call.is_error else "completed",
            }
            for call in session.calls_of(number)[:MAX_CALLS]
        ]
        if calls:
            request = {
                "agent_id": AGENT,
                "goal": task.goal,
                "result": task.result,
                "outcome": task.outcome or None,
                "feedback": task.feedback,
                "feedback_source": "agent",
                "is_prompt": True,
                "tool_usage": calls,
            }
            yield RecordedRequest("sessions", f"{session.name}:{number}", request)
