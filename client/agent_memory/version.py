"""The version of this client, and what it says to a server of another version."""

from __future__ import annotations

VERSION = "0.2.0"
HEADER = "X-Agent-Memory-Version"


def describe_gap(server: str, client: str = VERSION) -> str:
    """Say which side is older; empty if both have the same first two numbers.

    A server that sends no version is older than the header, or no such service.
    """
    if not server:
        return (
            "The server does not say its version. Update it, or check that the address is "
            "that of an agent memory service."
        )
    ours, theirs = _release(client), _release(server)
    if ours == theirs:
        return ""
    if ours < theirs:
        return (
            f"The server has version {server} and this client the older {client}. Update the "
            "client: `pip install -U agent-memory`, or `git pull` in its checkout."
        )
    return (
        f"The server has version {server}, older than this client's {client}. Update the "
        f"server, or install the client of its version: `pip install agent-memory=={server}`."
    )


def _release(version: str) -> tuple[int, ...]:
    """The first two numbers; within them, answers and requests only gain fields."""
    parts = version.split(".")[:2]
    return tuple(int(part) if part.isdecimal() else 0 for part in parts)
