"""Calls of a task, as a client sends them."""

from __future__ import annotations

from ace.repairs import cures, failed_call
from ace.task import task as tasks


def bash(command, result="", failed=False, **more):
    status = {"status": "error"} if failed else {}
    arguments = {"command": command}
    return {"tool_name": "Bash", "arguments": arguments, "result": result} | status | more  # fmt: skip


def tool(name, result="", failed=False, cwd="/home/ana/app", **arguments):
    status = {"status": "error"} if failed else {}
    call = {"tool_name": name, "arguments": arguments, "result": result, "cwd": cwd}
    return call | status


def edit(path, old, new):
    return tool("Edit", "edited", file_path=path, old_string=old, new_string=new)


def read(call, banners=()):
    (parsed,) = tasks.parse({"tool_usage": [call]}).calls
    return failed_call.read(parsed, banners)


def masked(call, banners=()):
    return [signature.name for signature in read(call, banners).signatures]


def find(*calls, banners=frozenset()):
    return cures.find(tasks.parse({"tool_usage": list(calls)}), banners)
