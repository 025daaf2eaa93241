"""The harnesses by name, and the reading of an event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from common import errors
from conversations.formats.harness import split_harness
from mcp_server.hooks.harnesses import (
    claude_code,
    codex,
    copilot,
    cursor,
    fields,
    gemini,
    opencode,
)
from mcp_server.hooks.harnesses.fields import Payload
from mcp_server.hooks.harnesses.harness import Harness
from mcp_server.hooks.hook_event import (
    MAX_FILES,
    MAX_NAME,
    MAX_PATH,
    MAX_SESSION,
    EventKind,
    HookEvent,
)

HARNESSES: Mapping[str, Harness] = {
    each.HARNESS.name: each.HARNESS
    for each in (claude_code, codex, copilot, gemini, opencode, cursor)
}
# What `am hook` adds to an event.
ADDED = "am"
# The kinds that may be named beside the event: all but UNKNOWN, which is what is left.
NAMED = {kind.value: kind for kind in EventKind if kind is not EventKind.UNKNOWN}


class UnknownHarness(errors.NotFound):
    """There is no such harness; docs/howto/hooks.md lists them."""

    code = "unknown_harness"


def find_harness(name: str) -> Harness:
    if name not in HARNESSES:
        known = ", ".join(HARNESSES)
        raise UnknownHarness(f"There is no harness {name[:100]!r}; known are {known}.")
    return HARNESSES[name]


def read_event(harness: Harness, payload: Payload, named: str = "") -> HookEvent:
    """Return the event of a harness. What is unknown or too long is left out.

    The name in the event says of which kind it is, or else `am.event`, or else `named`:
    some harnesses leave the name out.
    """
    added = fields.mapping(payload, ADDED)
    names = (harness.find_name(payload), fields.text(added, "event"), named)
    known = (harness.kinds.get(name) or NAMED.get(name) for name in names)
    kind = next(filter(None, known), None)
    event = harness.read(payload, kind or EventKind.UNKNOWN)
    return replace(
        event,
        prompt=split_harness(event.prompt)[0],
        name=event.name[:MAX_NAME],
        session=event.session[:MAX_SESSION],
        subagent=event.subagent[:MAX_NAME],
        branch=fields.text(added, "branch")[:MAX_NAME],
        hashes=_read_hashes(fields.mapping(added, "files")),
    )


def _read_hashes(files: Mapping[Any, Any]) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for path, digest in files.items():
        is_path = isinstance(path, str) and 0 < len(path) <= MAX_PATH
        is_hash = digest is None or (isinstance(digest, str) and len(digest) == 64)
        if is_path and is_hash and len(found) < MAX_FILES:
            found[path.removeprefix("./")] = digest.lower() if digest else None
    return found
