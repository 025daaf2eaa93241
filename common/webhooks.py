"""POST JSON to an address that a user entered, unless it is inside the network.

Everybody who sees a job reads its error, so no message names the address.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from django.conf import settings

from common import public_address

if TYPE_CHECKING:
    import httpx2

TIMEOUT = 10.0  # seconds to connect, to send, and to wait for each part of the response
SCHEMES = {"http": 80, "https": 443}


class WebhookRefused(Exception):
    """The address is not allowed; another attempt cannot help."""


class WebhookFailed(Exception):
    """The message was not delivered; another attempt may succeed."""


def is_webhook_url(url: str) -> bool:
    """Return whether a text is an http or https address with a host and without a password."""
    if not url.isprintable() or " " in url:
        return False
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme in SCHEMES and bool(parts.hostname) and "@" not in parts.netloc


def refuse_written_address(url: str) -> None:
    """Raise WebhookRefused if an address says by itself that nothing will be sent to it.

    The names of hosts are not looked up, because a name can lead elsewhere later.
    """
    host = urlsplit(url).hostname or ""
    host = "127.0.0.1" if host.rstrip(".") == "localhost" else host
    with suppress(WebhookFailed):  # the host is a name
        resolve(host, 0, flags=socket.AI_NUMERICHOST)


def post(url: str, body: Mapping[str, Any]) -> None:
    """Deliver a message; raise unless the response is a 2xx.

    The host is resolved once, and the request goes to the IP address. A second look-up
    could return another address. Redirects are not followed.
    """
    import httpx2  # takes long to load

    if not is_webhook_url(url):
        raise WebhookRefused("A webhook is an http or https address.")
    try:
        target = httpx2.URL(url)
    except httpx2.InvalidURL as error:
        raise WebhookRefused("The address of the webhook cannot be read.") from error
    last_error: Exception | None = None
    for ip in resolve(target.host, target.port or SCHEMES[target.scheme]):
        try:
            status = _send(target, ip, body)
        except httpx2.ConnectError as error:
            last_error = error
            continue
        except httpx2.HTTPError as error:
            raise WebhookFailed(f"The webhook: {type(error).__name__}") from error
        if not 200 <= status < 300:
            raise WebhookFailed(f"The webhook answered {status}.")
        return
    raise WebhookFailed("The webhook cannot be reached.") from last_error


def _send(target: httpx2.URL, ip: str, body: Mapping[str, Any]) -> int:
    """Send the request to one IP address; return the status, without reading the body."""
    import httpx2

    client = httpx2.Client(timeout=TIMEOUT, trust_env=False)
    stream = client.stream(
        "POST",
        target.copy_with(host=ip),
        json=dict(body),
        headers={"Host": target.netloc.decode("ascii")},
        extensions={"sni_hostname": target.raw_host.decode("ascii")},
    )
    with client, stream as response:
        status: int = response.status_code
        return status


def resolve(host: str, port: int, *, flags: int = 0) -> list[str]:
    """Return the IP addresses of a host; refuse the host if one of them is not allowed."""
    refuse_metadata(public_address.is_metadata_host(host))
    try:
        records = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
    except (OSError, UnicodeError) as error:
        raise WebhookFailed("The host of the webhook is not found.") from error
    ips = [str(address[0]) for *_, address in records]
    for ip in ips:
        refuse_metadata(public_address.is_metadata(ip))
        if not settings.WEBHOOK_PRIVATE and not public_address.is_public(ip):
            raise WebhookRefused(
                "The host of the webhook is inside the network; "
                "WEBHOOK_PRIVATE=1 allows such addresses."
            )
    return ips


def refuse_metadata(is_metadata: bool) -> None:
    """Refuse a cloud's metadata service, which WEBHOOK_PRIVATE does not allow either."""
    if is_metadata:
        raise WebhookRefused(
            "The webhook is a cloud's metadata service, which is never allowed."
        )
