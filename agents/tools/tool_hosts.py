"""Which hosts the tools of agents may reach."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.conf import settings

from common.outbound import OutboundRules


def is_allowed(host: str, port: int) -> bool:
    """Return whether the operator's setting TOOL_HOSTS allows a host inside the network."""
    return any(
        _normalise(allowed.hostname) == _normalise(host)
        and allowed.port in (None, port)
        for allowed in (urlsplit(f"//{entry.strip()}") for entry in settings.TOOL_HOSTS)
    )


def _normalise(host: str | None) -> str:
    return (host or "").strip("[]").rstrip(".").lower()


REMEDY = "the operator of the service can allow its host in TOOL_HOSTS."
HTTP_RULES = OutboundRules("tool", REMEDY, is_allowed)
MCP_RULES = OutboundRules("MCP server", REMEDY, is_allowed)
