"""Convert recorded runs of other systems into complete-task requests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

RecordedTask = Mapping[str, Any]


def to_request(row: RecordedTask, *, agent_id: str) -> dict[str, Any]:
    """Return the complete-task request for a recorded run.

    A recorded run may have the fields of a request. It may also have `reward` (1 is a
    success, 0 a failure), `is_solved`, `submission`, `reflections`, and steps with an
    `action` and an `observation`.
    """
    feedback, source = _feedback(row)
    request: dict[str, Any] = {
        "agent_id": row.get("agent_id") or agent_id,
        "goal": row["goal"],
        "result": row.get("result") or row.get("submission") or "",
        "tool_usage": _calls(row),
        "feedback": feedback,
        "feedback_source": row.get("feedback_source") or source,
    }
    if outcome := _outcome(row):
        request["outcome"] = outcome
    return request


def idempotency_key(row: RecordedTask, line: int) -> str:
    """Return a key that depends only on the number and the content of the line."""
    text = json.dumps(row, sort_keys=True, ensure_ascii=True)
    return f"replay-{line}-{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def _outcome(row: RecordedTask) -> str | None:
    if row.get("outcome"):
        return str(row["outcome"])
    if row.get("reward") is not None:
        reward = float(row["reward"])
        return {1.0: "success", 0.0: "failure"}.get(reward, "partial")
    if row.get("is_solved") is not None:
        return "success" if row["is_solved"] else "failure"
    return None


def _feedback(row: RecordedTask) -> tuple[str, str]:
    """Return (the feedback, the source of the feedback)."""
    if row.get("feedback"):
        return str(row["feedback"]), "agent"
    if row.get("reward") is not None:
        return f"reward {float(row['reward']):g}", "environment"
    if reflections := row.get("reflections"):
        return "\n\n".join(map(str, reflections)), "agent"
    return "", "agent"


def _calls(row: RecordedTask) -> list[dict[str, Any]]:
    steps = row.get("tool_usage")
    if not steps:
        result = row.get("result") or ""
        return [{"tool_name": "submit", "arguments": {}, "result": result}]
    return [_call(step) for step in steps]


def _call(step: RecordedTask) -> dict[str, Any]:
    if "action" in step:
        return {
            "tool_name": "shell",
            "arguments": {"command": step["action"]},
            "result": step.get("observation") or "",
        }
    return {
        "tool_name": step.get("tool_name") or step.get("tool") or step.get("name"),
        "arguments": step.get("arguments"),
        "result": step.get("result"),
    }
