"""Find the client's address, as the trusted proxies report it."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any, Protocol

from django.conf import settings
from django.http.request import split_domain_port


class HasMeta(Protocol):
    META: dict[str, str]


FORWARD_HEADERS = ("HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED", "HTTP_X_REAL_IP")


def client_address(request: HasMeta) -> str:
    """Return the client's address, as the outermost of NUM_PROXIES proxies reports it.

    Return "" if there is no address, as over a Unix socket.
    """
    return _find_address(request.META)


def client_network(meta: Mapping[str, Any]) -> str:
    """Return what limits count as one client: an address, or the /64 that one IPv6 client has."""
    text = _find_address(meta)
    address = ipaddress.ip_address(text) if text else None
    if not isinstance(address, ipaddress.IPv6Address):
        return text
    mapped = address.ipv4_mapped
    return str(mapped or ipaddress.ip_network((address, 64), strict=False))


def _find_address(meta: Mapping[str, Any]) -> str:
    proxies = int(str(settings.REST_FRAMEWORK["NUM_PROXIES"]))
    hops = meta.get("HTTP_X_FORWARDED_FOR", "").split(",")
    address = meta.get("REMOTE_ADDR", "")
    if proxies and hops != [""]:
        address = hops[-min(proxies, len(hops))]
    return _valid_address(address.strip())


def address_or_none(request: HasMeta) -> str | None:
    """Return the client's address, or None instead of "".

    With the address "", django-axes finds no attempts.
    """
    return client_address(request) or None


def is_loopback(request: HasMeta) -> bool:
    """Return whether the request comes from this machine, and through no proxy."""
    if any(name in request.META for name in FORWARD_HEADERS):
        return False
    address = _valid_address(request.META.get("REMOTE_ADDR", ""))
    return bool(address) and ipaddress.ip_address(address).is_loopback


def is_host_an_address(request: HasMeta) -> bool:
    """Return whether the header Host is an IP address, as a page of another site never has."""
    host, _ = split_domain_port(request.META.get("HTTP_HOST", ""))
    return bool(_valid_address(host.strip("[]")))


def _valid_address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text.partition("%")[0]))
    except ValueError:
        return ""
