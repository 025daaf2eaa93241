"""Which hosts the tools of agents may reach."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.conf import settings

from common.outbound import OutboundRules


def is_allowed(host: str, port: int) -> bool:
    """Return whether the operator's setting TOOL_HOSTS allows a host inside the network."""
    return any(matches(entry, host, port) for entry in settings.TOOL_HOSTS)


def matches(entry: str, host: str, port: int) -> bool:
    """Return whether HOST or HOST:PORT, as an operator writes it, names a host and a port."""
    allowed = urlsplit(f"//{entry.strip()}")
    is_host = _normalise(allowed.hostname) == _normalise(host)
    return is_host and allowed.port in (None, port)


def _normalise(host: str | None) -> str:
    return (host or "").strip("[]").rstrip(".").lower()


RULES = OutboundRules(
    "MCP server",
    "the operator of the service can allow its host in TOOL_HOSTS.",
    is_allowed,
)
