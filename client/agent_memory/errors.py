"""The errors of the client: one family with a code and a hint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent_memory.own_command import spell

HINTS = {
    "unauthenticated": "Check the key: it may be mistyped, expired or revoked. "
    "{connect} makes a new one.",
    "forbidden": "Ask an owner of the project for a key with a higher role.",
    "not_found": "Check the id and the project: a row of another project is not found either.",
    "unknown_field": "This client or this server is older than the other: see their versions.",
    "no_such_route": "The server is older than this client, or the address is another service's.",
    "throttled": "Wait a moment, or send fewer requests at once.",
}


def _find_hint(code: str) -> str:
    return HINTS.get(code, "").format(connect=spell("connect"))


class AgentMemoryError(Exception):
    """A call failed; `code` is stable, `detail` says what happened, `hint` what to do."""

    code = "error"

    def __init__(self, detail: str, *, hint: str = "") -> None:
        self.detail = detail
        self.hint = hint
        super().__init__(f"{detail} {hint}".strip())


class Unreachable(AgentMemoryError):
    """The server gave no answer."""

    code = "unreachable"


class VersionWarning(UserWarning):
    """The client and the server have different versions."""


class Problem(AgentMemoryError):
    """The server refused the call, with a status and a body by RFC 9457."""

    def __init__(
        self, status: int, body: Mapping[str, Any], *, version_gap: str = ""
    ) -> None:
        self.status = status
        self.body = body
        self.code = str(body.get("code") or f"http_{status}")
        self.errors: Mapping[str, Sequence[str]] = body.get("errors") or {}
        self.request_id = str(body.get("request_id") or "")
        detail = str(body.get("detail") or f"The server answered {status}.")
        fields = [f"{name}: {' '.join(texts)}" for name, texts in self.errors.items()]
        hint = " ".join(filter(None, [_find_hint(self.code), version_gap]))
        super().__init__(" ".join([detail, *fields]), hint=hint)
