"""Calls of finished tasks, as an agent reports them."""

from __future__ import annotations

ROOT = "/home/ana/shop"


def bash(command, result="ok", **more):
    return {"tool_name": "Bash", "arguments": {"command": command}, "result": result, "cwd": ROOT} | more  # fmt: skip
