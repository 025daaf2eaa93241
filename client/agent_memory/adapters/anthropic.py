"""Anthropic's memory tool over the service: `pip install agent-memory[anthropic]`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from anthropic.lib.tools import (
    BetaAbstractMemoryTool,
    BetaAsyncAbstractMemoryTool,
    ToolError,
)

from agent_memory import Client, Problem
from agent_memory.adapters.files import WORKSPACE, FileRefusal, MemoryFiles
from agent_memory.shapes import ScopeRequest


class AnthropicMemoryTool(BetaAbstractMemoryTool):
    """The memory tool for `Anthropic().beta.messages.tool_runner`.

    Its files belong to the project, so that every agent of the project finds what one has
    noted. With a scope such as `{"kind": "user", "user_id": "u1"}` they belong to one user.
    """

    def __init__(
        self, client: Client, *, scope: ScopeRequest = WORKSPACE, **options: Any
    ) -> None:
        super().__init__(**options)
        self.files = MemoryFiles(client, scope=scope)

    def view(self, command: Any) -> str:
        return answer(self.files.view, command.path, command.view_range)

    def create(self, command: Any) -> str:
        return answer(self.files.create, command.path, command.file_text)

    def str_replace(self, command: Any) -> str:
        new = command.new_str or ""
        return answer(self.files.str_replace, command.path, command.old_str, new)

    def insert(self, command: Any) -> str:
        line, text = command.insert_line, command.insert_text
        return answer(self.files.insert, command.path, line, text)

    def delete(self, command: Any) -> str:
        return answer(self.files.delete, command.path)

    def rename(self, command: Any) -> str:
        return answer(self.files.rename, command.old_path, command.new_path)

    def clear_all_memory(self) -> str:
        return self.files.clear()


class AsyncAnthropicMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same tool for `AsyncAnthropic`; its calls run in threads."""

    def __init__(
        self, client: Client, *, scope: ScopeRequest = WORKSPACE, **options: Any
    ) -> None:
        super().__init__(**options)
        self.tool = AnthropicMemoryTool(client, scope=scope)

    async def view(self, command: Any) -> str:
        return await asyncio.to_thread(self.tool.view, command)

    async def create(self, command: Any) -> str:
        return await asyncio.to_thread(self.tool.create, command)

    async def str_replace(self, command: Any) -> str:
        return await asyncio.to_thread(self.tool.str_replace, command)

    async def insert(self, command: Any) -> str:
        return await asyncio.to_thread(self.tool.insert, command)

    async def delete(self, command: Any) -> str:
        return await asyncio.to_thread(self.tool.delete, command)

    async def rename(self, command: Any) -> str:
        return await asyncio.to_thread(self.tool.rename, command)

    async def clear_all_memory(self) -> str:
        return await asyncio.to_thread(self.tool.clear_all_memory)


def answer(operate: Callable[..., str], *arguments: Any) -> str:
    """Return what an operation says; a refusal is an error that the model reads."""
    try:
        return operate(*arguments)
    except (FileRefusal, Problem) as error:
        raise ToolError(str(error)) from error
