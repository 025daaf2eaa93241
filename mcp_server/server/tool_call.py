"""One call of a tool, and what the tool answers."""

from __future__ import annotations

import io
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from access import idempotency
from common.api.parsing import StrictJSONParser
from common.caller import Caller
from projects.models import Project

# A client whose headers are the same for each call sends the key of a call in `_meta`.
META_KEY = "agent-memory/idempotency-key"


@dataclass(frozen=True)
class McpCall:
    """A call with valid arguments; `sent` is what the client sent."""

    tool: str
    request: HttpRequest
    caller: Caller
    project: Project
    arguments: Mapping[str, Any]
    sent: Mapping[str, Any]
    idempotency_key: str | None = None

    @property
    def identity(self) -> idempotency.RequestIdentity | None:
        if self.idempotency_key is None:
            return None
        return idempotency.identify_request(
            self.caller,
            route=f"MCP {self.tool}",
            path=self.request.path,
            project_id=self.project.pk,
            key=self.idempotency_key,
            body=self.sent,
        )

    def run_once(self, act: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
        """Call `act`; with an idempotency key, call it only the first time."""
        identity = self.identity
        if identity is None:
            return act()
        answer = idempotency.run_once(identity, lambda: (200, act()))
        body: Mapping[str, Any] = answer.body
        return body

    def replay(self) -> Mapping[str, Any] | None:
        """Return the stored answer, if any, before a slow preparation begins."""
        identity = self.identity
        stored = idempotency.replay(identity) if identity else None
        return stored.body if stored else None

    def page_url(self, name: str, *args: uuid.UUID | str) -> str:
        """Return the address of a page of the console or the admin."""
        path = reverse(name, args=args)
        base: str = settings.PUBLIC_URL.rstrip("/")
        return f"{base}{path}" if base else self.request.build_absolute_uri(path)


@dataclass(frozen=True)
class McpAnswer:
    """The data of an answer, and a short text for people that says the same."""

    data: Mapping[str, Any]
    text: str


def read_params(request: HttpRequest) -> Mapping[str, Any]:
    """Return the params of a call, parsed as strictly as the body of a REST request."""
    body = StrictJSONParser().parse(io.BytesIO(request.body))
    params = body.get("params")
    return params if isinstance(params, dict) else {}


def idempotency_key_of(request: HttpRequest, params: Mapping[str, Any]) -> str | None:
    meta = params.get("_meta")
    named = meta.get(META_KEY) if isinstance(meta, dict) else None
    key = request.headers.get("Idempotency-Key") if named is None else named
    return None if key is None else str(key)
