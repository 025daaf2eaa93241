from __future__ import annotations

import structlog

from common.text import secrets

MAX_LENGTH = 64  # of the columns that keep it


def request_id() -> str:
    """Return the current request's id, as in its log lines; empty outside of a request."""
    sent = str(structlog.contextvars.get_contextvars().get("request_id", ""))
    return secrets.mask(sent).text[:MAX_LENGTH]
