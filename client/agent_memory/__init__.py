"""The client of an agent memory service: `Client`, `AsyncClient` and their errors.

The package speaks HTTP to a service. It imports neither Django nor the service, and
`agent_memory.hook` imports the standard library only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_memory.version import VERSION as __version__

if TYPE_CHECKING:
    from agent_memory.client import AsyncClient, Client
    from agent_memory.errors import (
        AgentMemoryError,
        Problem,
        Unreachable,
        VersionWarning,
    )

__all__ = [
    "AgentMemoryError",
    "AsyncClient",
    "Client",
    "Problem",
    "Unreachable",
    "VersionWarning",
    "__version__",
]


def __getattr__(name: str) -> Any:
    """Import the client when it is asked for: a hook starts without httpx."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from agent_memory import client, errors

    return getattr(client if hasattr(client, name) else errors, name)
