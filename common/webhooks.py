"""POST JSON to an address that a user entered, unless it is inside the network.

Everybody who sees a job reads its error, so no message names the address.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.conf import settings

from common import outbound
from common.outbound import SCHEMES, OutboundRules, is_http_url

if TYPE_CHECKING:
    import httpx2

TIMEOUT = 10.0  # seconds to connect, to send, and to wait for each part of the response
RULES = OutboundRules(
    subject="webhook",
    remedy="WEBHOOK_PRIVATE=1 allows such addresses.",
    is_allowed=lambda host, port: bool(settings.WEBHOOK_PRIVATE),
)

WebhookRefused = outbound.OutboundRefused
WebhookFailed = outbound.OutboundFailed
is_webhook_url = is_http_url


def refuse_written_address(url: str) -> None:
    """Raise WebhookRefused if an address says by itself that nothing will be sent to it."""
    outbound.refuse_written_address(url, RULES)


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


def resolve(host: str, port: int) -> list[str]:
    """Return the IP addresses of a webhook's host; refuse the host if one is not allowed."""
    return outbound.resolve(host, port, RULES)
