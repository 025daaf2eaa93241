"""Find the IP addresses for a request to an address that a user entered.

A host is resolved once, and the request goes to the IP address. A second look-up could return
another address. Somebody else may read the refusals, so no message names the address.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from common import public_address

SCHEMES = {"http": 80, "https": 443}


class OutboundRefused(Exception):
    """The address is not allowed; another attempt cannot help."""


class OutboundFailed(Exception):
    """The request was not answered as it should be; another attempt may succeed."""


@dataclass(frozen=True)
class OutboundRules:
    """Which hosts inside the network one kind of request may reach.

    `subject` names the receiver in refusals, and `remedy` says which setting allows it.
    `is_allowed` gets the host and the port of the address.
    """

    subject: str
    remedy: str
    is_allowed: Callable[[str, int], bool]


def is_http_url(url: str) -> bool:
    """Return whether a text is an http or https address with a host and without a password."""
    if not url.isprintable() or " " in url:
        return False
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme in SCHEMES and bool(parts.hostname) and "@" not in parts.netloc


def refuse_written_address(url: str, rules: OutboundRules) -> None:
    """Raise OutboundRefused if an address says by itself that nothing will be sent to it.

    The names of hosts are not looked up, because a name can lead elsewhere later.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    host = "127.0.0.1" if host.rstrip(".") == "localhost" else host
    port = parts.port or SCHEMES.get(parts.scheme, 0)
    with suppress(OutboundFailed):  # the host is a name
        resolve(host, port, rules, flags=socket.AI_NUMERICHOST)


def resolve(host: str, port: int, rules: OutboundRules, *, flags: int = 0) -> list[str]:
    """Return the IP addresses of a host; refuse the host if one of them is not allowed."""
    _refuse_metadata(public_address.is_metadata_host(host), rules)
    try:
        records = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
    except (OSError, UnicodeError) as error:
        raise OutboundFailed(
            f"The host of the {rules.subject} is not found."
        ) from error
    ips = [str(address[0]) for *_, address in records]
    for ip in ips:
        _refuse_metadata(public_address.is_metadata(ip), rules)
        if not public_address.is_public(ip) and not rules.is_allowed(host, port):
            raise OutboundRefused(
                f"The host of the {rules.subject} is inside the network; {rules.remedy}"
            )
    return ips


def _refuse_metadata(is_metadata: bool, rules: OutboundRules) -> None:
    """Refuse a cloud's metadata service, which no setting allows."""
    if is_metadata:
        raise OutboundRefused(
            f"The {rules.subject} is a cloud's metadata service, which is never allowed."
        )
