"""What every tool of an agent has."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any, Protocol

from common.caller import Caller
from conversations.models import Session
from projects.models import Project

MAX_OBSERVATION = 20_000  # characters of a tool's answer


@dataclass(frozen=True)
class ToolArgument:
    """`type` is a JSON Schema type: string, number, integer, boolean, object, array.

    It is empty if the argument of an MCP tool has several types.
    """

    name: str
    type: str = "string"
    description: str = ""
    required: bool = True


@dataclass(frozen=True)
class ToolContext:
    """Whose run calls a tool; `session` is that of the conversation, if there is one."""

    project: Project
    caller: Caller
    user_id: str
    run_id: uuid.UUID
    session: Session | None
    has_memory: bool


class ToolFailure(Exception):
    """The tool did not do it; the message becomes the observation `Error: …`."""


class Tool(Protocol):
    """A tool as the model sees it and as the loop calls it."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def arguments(self) -> tuple[ToolArgument, ...]: ...

    @property
    def asks_first(self) -> bool:
        """Whether a person confirms each call, because it may change something."""
        ...

    def call(self, arguments: dict[str, Any], context: ToolContext) -> str:
        """Return what the tool says, as text; raise ToolFailure."""
        ...
