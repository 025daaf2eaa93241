"""Calls of finished tasks, as an agent reports them."""

from __future__ import annotations

ROOT = "/home/ana/shop"


def bash(command, result="ok", **more):
    return {"tool_name": "Bash", "arguments": {"command": command}, "result": result, "cwd": ROOT} | more  # fmt: skip


def read(path, text, **more):
    arguments = {"file_path": f"{ROOT}/{path}"}
    return {"tool_name": "Read", "arguments": arguments, "result": text, "cwd": ROOT} | more  # fmt: skip


def claude(*lines):
    return read("CLAUDE.md", "\n".join(f"{n:6}→{x}" for n, x in enumerate(lines, 1)))
