"""Serve tools: check the arguments, call the tool, and answer with data and a short text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django_mcpz.elicitation import Elicitation
from django_mcpz.server import MCPServer, Tool, logger
from rest_framework import serializers
from rest_framework.exceptions import APIException

from access import refusals
from common import errors
from common.api import problem
from common.api.serializers import validate
from common.caller import Role
from mcp_server.server.access import access_of
from mcp_server.server.json_schema import input_schema, output_schema
from mcp_server.server.json_texts import read_arguments, read_json
from mcp_server.server.tool_call import (
    McpAnswer,
    McpCall,
    idempotency_key_of,
    read_params,
)
from projects import secret_policy


@dataclass(frozen=True)
class ServedTool:
    """A tool as clients are told of it, and the function that it calls.

    `role` is the lowest role that sees it. A tool of viewers only reads, unless it
    `has_effects`. With `guards_secrets`, the function masks or refuses the secrets in the
    arguments itself.
    """

    name: str
    title: str
    description: str
    arguments: type[serializers.Serializer[Any]]
    answer: type[serializers.Serializer[Any]]
    run: Callable[[McpCall], McpAnswer]
    role: Role = Role.VIEWER
    is_destructive: bool = False
    is_idempotent: bool = False
    has_effects: bool = False
    guards_secrets: bool = False

    @property
    def is_read_only(self) -> bool:
        return self.role == Role.VIEWER and not self.has_effects

    def is_permitted(self, request: HttpRequest) -> bool:
        access = access_of(request)
        return access.caller.may(self.role, access.project.pk)


class ToolServer(MCPServer):
    """An MCP server whose tools have serializers, and whose errors have code and mend.

    django-mcpz sends either data or a text. Here a tool answers with both, so this class
    overrides how a tool is run; requirements.in keeps the package below 2.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.served: dict[str, ServedTool] = {}

    def add(self, served: ServedTool) -> None:
        self.served[served.name] = served
        self.tool(
            name=served.name,
            title=served.title,
            description=served.description,
            input_schema=input_schema(served.arguments),
            output_schema=output_schema(served.answer),
            read_only=served.is_read_only,
            destructive=served.is_destructive,
            idempotent=served.is_idempotent or served.is_read_only,
            open_world=False,
            permission=served.is_permitted,
        )(served.run)

    def _tools_call(
        self,
        request: HttpRequest,
        request_id: str | int,
        params: dict[str, Any],
        *,
        legacy: bool = False,
    ) -> HttpResponse:
        self._audit_forbidden(request, params.get("name"))
        params = {**params, "arguments": read_json(params.get("arguments"))}
        return super()._tools_call(request, request_id, params, legacy=legacy)

    def _audit_forbidden(self, request: HttpRequest, name: object) -> None:
        """Audit a call of a tool that the caller's role hides; it answers as an unknown one."""
        served = self.served.get(name) if isinstance(name, str) else None
        if served and not served.is_permitted(request):
            self._audit(request, errors.Forbidden())

    @staticmethod
    def _audit(request: HttpRequest, refusal: errors.Refusal) -> None:
        response = problem.ProblemResponse(refusal)
        refusals.audit_refusal(request, response, access_of(request).project.pk)

    def _run_tool(
        self,
        request: HttpRequest,
        request_id: str | int,
        tool: Tool,
        arguments: dict[str, Any],
        elicitation: Elicitation,
    ) -> tuple[HttpResponse, str]:
        served = self.served[tool.name]
        try:
            answer = served.run(call_of(served, request))
        except (errors.Refusal, APIException, DatabaseError) as error:
            refusal = problem.refusal_for(error)
            if refusal is None:
                raise
            self._audit(request, refusal)
            text = describe_refusal(refusal)
            return self._tool_error(request, request_id, text), refusal.code
        # As Django does for a view: the client is told, and the log has the traceback.
        except Exception:
            logger.exception("Tool %r raised an exception", tool.name)
            text = describe_refusal(problem.InternalFailure())
            return self._tool_error(request, request_id, text), "exception"
        result = {
            "isError": False,
            "content": [{"type": "text", "text": answer.text}],
            "structuredContent": served.answer(answer.data).data,
        }
        return self._result(request, request_id, result), "ok"


def call_of(served: ServedTool, request: HttpRequest) -> McpCall:
    """Return the call with valid arguments, whose secrets are masked as at REST."""
    access, params = access_of(request), read_params(request)
    access.caller.require(served.role, access.project.pk)
    sent: dict[str, Any] = read_json(params.get("arguments")) or {}
    arguments = read_arguments(served.arguments, sent)
    if not served.guards_secrets:
        arguments, _ = secret_policy.guard(access.project.options.secrets, arguments)
    return McpCall(
        tool=served.name,
        request=request,
        caller=access.caller,
        project=access.project,
        arguments=validate(served.arguments, arguments),
        sent=sent,
        idempotency_key=idempotency_key_of(request, params),
    )


def describe_refusal(refusal: errors.Refusal) -> str:
    """Return the code of a refusal, how to mend the call, and the wrong fields."""
    lines = [f"{refusal.code}: {refusal.detail}"]
    lines += [f"{name}: {' '.join(texts)}" for name, texts in refusal.errors.items()]
    if refusal.retry_after is not None:
        lines.append(f"Try again in {refusal.retry_after} seconds.")
    return "\n".join(lines)
