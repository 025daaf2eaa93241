"""What the service knows of a harness."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mcp_server.hooks.harnesses.fields import Payload
from mcp_server.hooks.hook_event import EventKind, HookEvent


@dataclass(frozen=True)
class Harness:
    """A harness: how it names its events, and how its JSON is read and written.

    `find_name` returns the name of an event in its JSON. `read` reads the other fields;
    `write` returns what the harness reads as the answer, for a text that is not empty.
    """

    name: str
    kinds: Mapping[str, EventKind]
    find_name: Callable[[Payload], str]
    read: Callable[[Payload, EventKind], HookEvent]
    write: Callable[[HookEvent, str], dict[str, Any]]
