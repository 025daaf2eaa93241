"""The keys of sessions whose names a framework gives."""

from __future__ import annotations

import hashlib
from urllib.parse import quote

MAX_KEY = 200  # characters: docs/limits.md of the service


def session_key(name: str) -> str:
    """Return a key that can stand in a path: `~2F` for a slash, a hash for a long name."""
    key = quote(name, safe=":@").replace("~", "~7E").replace("%", "~")
    if len(key) <= MAX_KEY:
        return key
    return f"sha256:{hashlib.sha256(name.encode()).hexdigest()}"
