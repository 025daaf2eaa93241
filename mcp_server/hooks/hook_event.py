"""An event of a session, whatever harness it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

MAX_SESSION = 200  # characters of a session's id, as of the key of a session
MAX_FILES = 50  # files whose hashes an event may carry
MAX_PATH = 1_000  # characters
MAX_NAME = 200  # characters of a name of an event, a branch or a tool


class EventKind(StrEnum):
    """The kinds of events. `TOOL` is a call that ended, whether or not it failed."""

    SESSION_START = "session-start"
    SUBAGENT_START = "subagent-start"
    PROMPT = "prompt"
    TOOL = "tool"
    TOOL_FAILED = "tool-failed"
    PRE_COMPACT = "pre-compact"
    STOP = "stop"
    SESSION_END = "session-end"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class EndedCall:
    """A call that a harness reports. `has_failed` is None if the harness does not say."""

    tool: str
    arguments: Any
    result: str
    has_failed: bool | None = None


@dataclass(frozen=True)
class HookEvent:
    """One event. `name` is the harness's name of it, and `session` the harness's own id.

    `subagent` is the id of a subagent within the session. `source` says why a session
    starts. `hashes` are the SHA-256 hashes of files as they are on the agent's branch; None
    says that the file is gone.
    """

    kind: EventKind
    name: str = ""
    session: str = ""
    subagent: str = ""
    source: str = ""
    cwd: str = ""
    prompt: str = ""
    call: EndedCall | None = None
    branch: str = ""
    hashes: Mapping[str, str | None] = field(default_factory=dict)
