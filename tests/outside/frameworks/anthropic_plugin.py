"""Run Anthropic's tests of its memory tool on files against the adapter.

The tests look at files on the disk. So each tool has a folder that mirrors the service: what
a test has written there is stored before an operation, and what is stored is written after it.
"""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from agent_memory.adapters import anthropic as adapter
from anthropic.lib.tools import _beta_builtin_memory_tool as builtin
from anyio import Path as AsyncPath
from service_client import client, object_scope

OPERATIONS = ("view", "create", "str_replace", "insert", "delete", "rename")
SKIPPED = {
    "umask": "it is about the modes of folders on a disk",
    "symlink": "it is about symbolic links on a disk; memories have none",
}


class Mirror:
    """A folder with the files of a tool."""

    def __init__(self, base_path, files):
        self.base = Path(base_path)
        self.root = self.base / "memories"
        self.files = files
        self.root.mkdir(parents=True, exist_ok=True)

    def store_written(self):
        stored = self.files.read_tree().rows
        for path in self.root.rglob("*"):
            place = f"/{path.relative_to(self.base).as_posix()}"
            if path.is_file() and place not in stored:
                self.files.create(place, path.read_bytes().decode())

    def write_stored(self):
        shutil.rmtree(self.root)
        self.root.mkdir()
        for row in self.files.facts.list(fields=["title", "value"]):
            path = self.base / row["title"].removeprefix("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(row["value"].encode())


class Tool(adapter.AnthropicMemoryTool):
    def __init__(self, base_path):
        super().__init__(client(), scope=object_scope())
        self.mirror = Mirror(base_path, self.files)
        self.base_path, self.memory_root = self.mirror.base, self.mirror.root


class AsyncTool(adapter.AsyncAnthropicMemoryTool):
    def __init__(self, base_path):
        super().__init__(client(), scope=object_scope())
        self.mirror = Mirror(base_path, self.tool.files)
        self.base_path = AsyncPath(base_path)
        self.memory_root = self.base_path / "memories"


def mirrored(operate):
    def run(tool, command):
        tool.mirror.store_written()
        try:
            return operate(tool, command)
        finally:
            tool.mirror.write_stored()

    return run


def mirrored_async(operate):
    async def run(tool, command):
        await asyncio.to_thread(tool.mirror.store_written)
        try:
            return await operate(tool, command)
        finally:
            await asyncio.to_thread(tool.mirror.write_stored)

    return run


for name in OPERATIONS:
    setattr(Tool, name, mirrored(getattr(adapter.AnthropicMemoryTool, name)))
    setattr(
        AsyncTool, name, mirrored_async(getattr(adapter.AsyncAnthropicMemoryTool, name))
    )
builtin.BetaLocalFilesystemMemoryTool = Tool
builtin.BetaAsyncLocalFilesystemMemoryTool = AsyncTool


def pytest_collection_modifyitems(items):
    for item in items:
        for word, reason in SKIPPED.items():
            if word in item.name:
                item.add_marker(pytest.mark.skip(reason=reason))
                break
