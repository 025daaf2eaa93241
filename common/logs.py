"""Values bound to every log line of a request."""

from __future__ import annotations

from typing import Any

import structlog

from common.address import client_address


def bind_address(request: Any, **sent: Any) -> None:
    """Bind the client's address, as the trusted proxies report it."""
    structlog.contextvars.bind_contextvars(ip=client_address(request))
