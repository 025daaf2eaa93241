"""A transport of HTTP requests that reaches one host only, at addresses that were checked.

This module takes long to import.
"""

from __future__ import annotations

import asyncio
import functools
import ssl
from collections.abc import AsyncIterator, Mapping

import httpx2

from common import outbound
from common.outbound import OutboundFailed, OutboundRefused, OutboundRules

REDIRECTS = {301, 302, 303, 307, 308}


class PinnedTransport(httpx2.AsyncHTTPTransport):
    """Send every request to the IP addresses to which the host was resolved once.

    A request to another host, a redirect, a compressed answer, and an answer larger than
    `max_bytes` are refused. `problem` says which, because some clients drop the exception.
    """

    def __init__(
        self, origin: httpx2.URL, ips: list[str], rules: OutboundRules, max_bytes: int
    ) -> None:
        super().__init__(verify=_tls_context())
        self._origin = origin
        self._ips = ips
        self._rules = rules
        self._max_bytes = max_bytes
        self.problem: Exception | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        subject = self._rules.subject
        if _origin_of(request.url) != _origin_of(self._origin):
            raise self._record(OutboundRefused(f"The {subject} leads to another host."))
        response = await self._connect(request)
        if response.status_code in REDIRECTS:
            await response.aclose()
            message = (
                f"The {subject} answered {response.status_code}, a redirect; redirects are "
                "not followed. Enter the address to which it leads."
            )
            raise self._record(OutboundRefused(message))
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await response.aclose()
            message = f"The {subject} sent a compressed answer, which is not read."
            raise self._record(OutboundFailed(message))
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _BoundedAsyncStream(response.stream, self)
        return response

    async def _connect(self, request: httpx2.Request) -> httpx2.Response:
        """Try the addresses one after the other until one accepts the connection."""
        for ip in self._ips:
            # The client's own request keeps the name, from which it judges the answer.
            sent = httpx2.Request(
                request.method,
                request.url.copy_with(host=ip),
                headers=request.headers,
                stream=request.stream,
                extensions={
                    **request.extensions,
                    "sni_hostname": request.url.raw_host.decode("ascii"),
                },
            )
            try:
                return await super().handle_async_request(sent)
            except httpx2.ConnectError:
                continue
            except httpx2.HTTPError as error:
                message = f"The {self._rules.subject}: {type(error).__name__}"
                raise self._record(OutboundFailed(message)) from error
        message = f"The {self._rules.subject} cannot be reached."
        raise self._record(OutboundFailed(message))

    def refuse_size(self, size: int) -> None:
        if size > self._max_bytes:
            message = (
                f"The {self._rules.subject} sent more than {self._max_bytes:,} bytes."
            )
            raise self._record(OutboundFailed(message))

    def _record(self, problem: Exception) -> Exception:
        self.problem = problem
        return problem


class _BoundedAsyncStream(httpx2.AsyncByteStream):
    def __init__(
        self, stream: httpx2.AsyncByteStream, transport: PinnedTransport
    ) -> None:
        self._stream = stream
        self._transport = transport

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            self._transport.refuse_size(size)
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


async def open_transport(
    url: str, rules: OutboundRules, *, max_bytes: int
) -> PinnedTransport:
    """Resolve the host of an address once; raise OutboundRefused or OutboundFailed."""
    if not outbound.is_http_url(url):
        raise OutboundRefused(f"A {rules.subject} has an http or https address.")
    try:
        target = httpx2.URL(url)
    except httpx2.InvalidURL as error:
        raise OutboundRefused(
            f"The address of the {rules.subject} cannot be read."
        ) from error
    port = target.port or outbound.SCHEMES[target.scheme]
    # A name server may be slow, so that the loop must be able to give up.
    ips = await asyncio.to_thread(outbound.resolve, target.host, port, rules)
    return PinnedTransport(target, ips, rules, max_bytes)


def build_client(
    transport: PinnedTransport, *, timeout: float, headers: Mapping[str, str]
) -> httpx2.AsyncClient:
    """Return a client of the transport, without the proxies of the environment."""
    return httpx2.AsyncClient(
        transport=transport,
        timeout=timeout,
        headers={"Accept-Encoding": "identity", **headers},
        trust_env=False,
        follow_redirects=False,
    )


@functools.cache
def _tls_context() -> ssl.SSLContext:
    """Read the certificates once, which takes 20 ms."""
    return httpx2.create_ssl_context()


def _origin_of(url: httpx2.URL) -> tuple[str, str, int]:
    return url.scheme, url.host, url.port or outbound.SCHEMES.get(url.scheme, 0)
