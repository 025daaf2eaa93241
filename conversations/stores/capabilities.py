"""Ask a store what it can do."""

from __future__ import annotations

from conversations.stores.contract import CAPABILITIES
from conversations.stores.trace import unwrap


def capabilities_of(store: object) -> list[str]:
    """Return the names of the capabilities that a store has, behind every wrapper."""
    inner = unwrap(store)
    return [name for name, kind in CAPABILITIES.items() if isinstance(inner, kind)]
