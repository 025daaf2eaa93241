"""What every log line has, and what none has: query strings and secrets."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import structlog

from common.address import client_address
from common.secret_masks import mask_value

# What the service itself writes in every line.
OWN_FIELDS = frozenset(
    ["timestamp", "level", "logger", "ip", "request_id", "correlation_id", "user_id"]
)


def mask_secrets(
    logger: Any, method: str, line: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Mask the secrets in a log line; errors repeat what others sent."""
    for name, value in line.items():
        if isinstance(value, str) and name not in OWN_FIELDS:
            line[name], _ = mask_value(value)
    return line


def bind_address(request: Any, **sent: Any) -> None:
    """Bind the client's address, as the trusted proxies report it."""
    structlog.contextvars.bind_contextvars(ip=client_address(request))
