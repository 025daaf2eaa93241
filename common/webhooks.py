"""POST JSON to an address that somebody typed, and to nowhere inside the network."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from django.conf import settings

if TYPE_CHECKING:
    import httpx2

TIMEOUT = 10.0  # seconds to connect, to send, and until something of an answer comes
SCHEMES = {"http": 80, "https": 443}


class WebhookRefused(Exception):
    """The address is none that may be asked; trying again cannot help."""


class WebhookFailed(Exception):
    """Nothing took the message; it may be taken later."""


def is_webhook_url(url: str) -> bool:
    """Whether it is an http or https address with a host and without a password."""
    if not url.isprintable() or " " in url:
        return False
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme in SCHEMES and bool(parts.hostname) and "@" not in parts.netloc


def post(url: str, body: Mapping[str, Any]) -> None:
    """Deliver a message; raises unless the answer is a 2xx.

    The address is resolved once and asked by number: a name that answers another one
    the second time leads nowhere else. Redirects are not followed.
    """
    import httpx2  # takes long to load

    if not is_webhook_url(url):
        raise WebhookRefused("A webhook is an http or https address.")
    try:
        target = httpx2.URL(url)
    except httpx2.InvalidURL as error:
        raise WebhookRefused(f"The webhook cannot be read: {error}") from error
    failed: Exception | None = None
    for number in resolve(target.host, target.port or SCHEMES[target.scheme]):
        try:
            status = _send(target, number, body)
        except httpx2.ConnectError as error:
            failed = error
            continue
        except httpx2.HTTPError as error:
            raise WebhookFailed(f"{target.host}: {type(error).__name__}") from error
        if not 200 <= status < 300:
            raise WebhookFailed(f"{target.host} answered {status}.")
        return
    raise WebhookFailed(f"{target.host} cannot be reached.") from failed


def _send(target: httpx2.URL, number: str, body: Mapping[str, Any]) -> int:
    """The status that a host answers at one of its numbers; no more of it is read."""
    import httpx2

    client = httpx2.Client(timeout=TIMEOUT, trust_env=False)
    asked = client.stream(
        "POST",
        target.copy_with(host=number),
        json=dict(body),
        headers={"Host": target.netloc.decode("ascii")},
        extensions={"sni_hostname": target.raw_host.decode("ascii")},
    )
    with client, asked as answer:
        status: int = answer.status_code
        return status


def resolve(host: str, port: int) -> list[str]:
    """The numbers of a host, every one of which may be asked."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise WebhookFailed(f"{host} is not found.") from error
    numbers = [str(address[0]) for *_, address in found]
    for number in numbers:
        if not settings.WEBHOOK_PRIVATE and not is_public(number):
            raise WebhookRefused(
                f"{host} is inside the network ({number}); "
                "WEBHOOK_PRIVATE=1 allows such addresses."
            )
    return numbers


def is_public(number: str) -> bool:
    """Neither loopback, private, link-local, shared, reserved nor multicast."""
    address = ipaddress.ip_address(number.partition("%")[0])
    return address.is_global and not address.is_multicast
