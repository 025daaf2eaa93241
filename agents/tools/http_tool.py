"""A tool that sends one HTTP request to an address that an owner of the project defined."""

from __future__ import annotations

import asyncio
import functools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote, urlencode, urlsplit

from asgiref.sync import async_to_sync

from agents.models import AgentTool
from agents.tools.call_arguments import check_arguments
from agents.tools.observation import MAX_BYTES, build_observation, decode
from agents.tools.placeholders import (
    ARGUMENT,
    fill_header,
    fill_text,
    fill_url,
    fill_value,
    find_argument_names,
    find_secret_names,
    to_text,
)
from agents.tools.secrets import MAX_LENGTH, read_values
from agents.tools.tool import ToolArgument, ToolContext, ToolFailure
from agents.tools.tool_hosts import HTTP_RULES
from common.outbound import OutboundFailed, OutboundRefused

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
BODY_METHODS = {"POST", "PUT", "PATCH"}
# Bytes of an answer that are read: what an observation needs, and a secret at its end.
MAX_READ = MAX_BYTES + 4 * MAX_LENGTH
MAX_FAILURE = 4_000  # characters that are passed on of an answer that is no 2xx
MAX_URL = 8_000  # characters of an address with its arguments
_SLASH = re.compile(r"[/\\]")


@dataclass(frozen=True)
class HttpRequest:
    """A request as it is sent. `body` is JSON, or null if there is none."""

    method: str
    url: str
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True)
class HttpAnswer:
    """The beginning of an answer; `is_cut` if more followed."""

    status: int
    content_type: str
    data: bytes
    is_cut: bool

    @property
    def text(self) -> str:
        return decode(self.data, self.content_type)


@dataclass(frozen=True)
class HttpTool:
    """A tool of a row of kind `http`."""

    row: AgentTool

    @property
    def name(self) -> str:
        return self.row.name

    @property
    def description(self) -> str:
        return self.row.description

    @functools.cached_property
    def arguments(self) -> tuple[ToolArgument, ...]:
        return tuple(ToolArgument(**fields) for fields in self.row.arguments)

    @property
    def method(self) -> str:
        return str(self.row.definition["method"])

    @property
    def asks_first(self) -> bool:
        return self.method != "GET" and self.row.confirm != AgentTool.Confirm.AUTO

    def call(self, arguments: dict[str, Any], context: ToolContext) -> str:
        """Send the request once; raise ToolFailure unless the answer is a 2xx."""
        checked = check_arguments(arguments, self.arguments)
        secret_names = find_secret_names(self.row.definition.get("headers", {}))
        values = read_values(context.project, secret_names)
        request = build_request(self.row.definition, checked, values)
        answer = async_to_sync(send)(request, timeout=self.row.timeout)
        text = build_observation(
            answer.text, values, context.project, is_cut=answer.is_cut
        )
        if not 200 <= answer.status < 300:
            shown = text[:MAX_FAILURE]
            raise ToolFailure(f"The server answered {answer.status}. {shown}".strip())
        return text or f"The server answered {answer.status} without a body."


def build_request(
    definition: Mapping[str, Any],
    arguments: Mapping[str, Any],
    secrets: Mapping[str, str],
) -> HttpRequest:
    """Fill a definition with the arguments of a call.

    Arguments that the definition does not place go into the JSON body of a POST, PUT or
    PATCH, and into the query of a GET or DELETE.
    """
    method = definition["method"]
    query_template = definition.get("query") or {}
    body_template = definition.get("body")
    used = find_argument_names([definition["url"], query_template, body_template])
    rest = {name: value for name, value in arguments.items() if name not in used}
    query = {
        name: fill_text(template, arguments)
        for name, template in query_template.items()
        if _has_all(template, arguments)
    }
    body = fill_value(body_template, arguments)
    if method not in BODY_METHODS:
        query |= {name: to_text(value) for name, value in rest.items()}
    elif body is None:
        body = rest
    elif isinstance(body, dict):
        body = {**rest, **body}
    headers = {
        name: fill_header(template, secrets)
        for name, template in (definition.get("headers") or {}).items()
    }
    url = _append_query(_fill_safely(definition["url"], arguments), query)
    return HttpRequest(method, url, headers, body)


def _append_query(url: str, query: Mapping[str, str]) -> str:
    """Add parameters to those that the address has; raise ToolFailure if it gets too long."""
    if query:
        url += ("&" if "?" in url else "?") + urlencode(query, quote_via=quote)
    if len(url) > MAX_URL:
        raise ToolFailure("The arguments make the address too long; send less.")
    return url


def _has_all(template: str, arguments: Mapping[str, Any]) -> bool:
    """Return whether the call has the arguments of a parameter, or the parameter needs none."""
    return all(name in arguments for name in ARGUMENT.findall(template))


def _fill_safely(template: str, arguments: Mapping[str, Any]) -> str:
    """Fill an address; refuse an argument that would name a folder above its place."""
    url = fill_url(template, arguments)
    fixed = urlsplit(template).path.split("/")
    for before, segment in zip(fixed, urlsplit(url).path.split("/"), strict=False):
        # A server may decode an encoded slash before it resolves the dots.
        parts = _SLASH.split(unquote(segment))
        if before != segment and (parts == [""] or {".", ".."} & set(parts)):
            raise ToolFailure(
                f"An argument in the path of the address cannot be {unquote(segment)!r}."
            )
    return url


async def send(request: HttpRequest, *, timeout: float) -> HttpAnswer:
    """Send a request within `timeout` seconds; raise ToolFailure if nothing answers."""
    import httpx2  # takes long to load

    try:
        async with asyncio.timeout(timeout):
            return await _send(request, timeout)
    except (OutboundRefused, OutboundFailed) as error:
        raise ToolFailure(str(error)) from error
    except TimeoutError as error:
        raise ToolFailure(f"The tool did not answer within {timeout:g} s.") from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        # Its message may repeat a header, and so a secret.
        raise ToolFailure(f"The request failed: {type(error).__name__}.") from None


async def _send(request: HttpRequest, timeout: float) -> HttpAnswer:
    from common import pinned_transport

    transport = await pinned_transport.open_transport(
        request.url, HTTP_RULES, max_bytes=2 * MAX_READ
    )
    content = None
    headers = dict(request.headers)
    if request.body is not None:
        content = json.dumps(request.body, ensure_ascii=False).encode()
        headers = {"Content-Type": "application/json", **headers}
    async with (
        pinned_transport.build_client(
            transport, timeout=timeout, headers=headers
        ) as client,
        client.stream(request.method, request.url, content=content) as response,
    ):
        data, is_cut = await _read(response)
        return HttpAnswer(
            response.status_code,
            response.headers.get("content-type", ""),
            data,
            is_cut,
        )


async def _read(response: Any) -> tuple[bytes, bool]:
    """Return the first bytes of an answer, and whether more followed."""
    data = bytearray()
    async for chunk in response.aiter_raw():
        data += chunk
        if len(data) > MAX_READ:
            return bytes(data[:MAX_READ]), True
    return bytes(data), False
