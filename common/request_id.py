from __future__ import annotations

import structlog


def request_id() -> str:
    """Return the current request's id, as in its log lines; empty outside of a request."""
    return str(structlog.contextvars.get_contextvars().get("request_id", ""))
