"""Find the client's address, as the trusted proxies report it."""

from __future__ import annotations

import ipaddress
from typing import Protocol

from django.conf import settings
from django.http.request import split_domain_port


class HasMeta(Protocol):
    META: dict[str, str]


FORWARD_HEADERS = ("HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED", "HTTP_X_REAL_IP")


def client_address(request: HasMeta) -> str:
    """Return the client's address, as the outermost of NUM_PROXIES proxies reports it.

    Return "" if there is no address, as over a Unix socket.
    """
    proxies = int(str(settings.REST_FRAMEWORK["NUM_PROXIES"]))
    hops = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    address = request.META.get("REMOTE_ADDR", "")
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
