"""A small HTTP exchange of the standard library, for what must start fast."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from agent_memory.connections import Connection
from agent_memory.version import HEADER, VERSION

MAX_ANSWER = 4 * 1024 * 1024  # bytes; the answer of a hook is a few thousand


class ExchangeError(Exception):
    """The server gave no usable answer."""


class WireAnswer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def data(self) -> Any:
        """The JSON of the body; None if it is none."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None


def send(
    connection: Connection,
    method: str,
    path: str,
    *,
    query: Mapping[str, str] | None = None,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    timeout: float,
) -> WireAnswer:
    """Send a request with the connection's key.

    `timeout` is in seconds for each step of the exchange, not for the whole. Raises
    `ExchangeError` if there is no answer.
    """
    address = urlsplit(connection.server)
    kind = (
        http.client.HTTPSConnection
        if address.scheme == "https"
        else http.client.HTTPConnection
    )
    link = kind(address.hostname or "", address.port, timeout=timeout)
    target = address.path.rstrip("/") + path + (f"?{urlencode(query)}" if query else "")
    own = {
        "Authorization": f"Bearer {connection.key}",
        "Content-Type": "application/json",
        "User-Agent": f"agent-memory/{VERSION}",
        HEADER: VERSION,
    }
    try:
        link.request(method, target, body=body, headers={**own, **(headers or {})})
        response = link.getresponse()
        content = response.read(MAX_ANSWER)
    except (OSError, http.client.HTTPException) as error:
        reason = str(error) or type(error).__name__
        raise ExchangeError(f"{connection.server} does not answer: {reason}") from error
    finally:
        link.close()
    return WireAnswer(response.status, dict(response.getheaders()), content)


def require_success(answer: WireAnswer) -> WireAnswer:
    """Raise `ExchangeError` with the server's words if it refused."""
    if answer.status < 400:
        return answer
    data = answer.data if isinstance(answer.data, dict) else {}
    code, detail = data.get("code", ""), data.get("detail", "")
    words = " ".join(
        filter(None, [f"the server answered {answer.status}", code, detail])
    )
    raise ExchangeError(words)
