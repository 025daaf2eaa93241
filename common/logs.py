"""What every line of a request's log says."""

from __future__ import annotations

from typing import Any

import structlog

from common.address import client_address


def bind_address(request: Any, **sent: Any) -> None:
    """The client's address, as far as proxies are trusted."""
    structlog.contextvars.bind_contextvars(ip=client_address(request))
