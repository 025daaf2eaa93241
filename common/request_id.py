from __future__ import annotations

import structlog


def request_id() -> str:
    """The id of the request in hand, as its log lines have it; empty outside of one."""
    return str(structlog.contextvars.get_contextvars().get("request_id", ""))
