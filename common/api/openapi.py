"""The OpenAPI schema: Idempotency-Key, problems, nullable fields and closed bodies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter

from common.api.problem import MEDIA_TYPE

IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="1 to 255 printable characters. A request with the same key and body "
    "gets the first answer again, for 7 days.",
)
METHODS = ("get", "post", "put", "patch", "delete")
COMMON_PROBLEMS = {
    "400": "The request does not match the schema, or has a field or a query parameter "
    "that is not in it; `errors` names each.",
    "401": "No key, or a key that is unknown, expired or revoked.",
    "403": "The role is too low.",
    "404": "There is no such row, or you may not see it.",
    "429": "Too many requests; see Retry-After.",
    "503": "Busy or unavailable; see Retry-After.",
}
WRITE_PROBLEMS = {
    "409": "The state of the row, or of the Idempotency-Key, does not allow the request.",
}
BODY_PROBLEMS = {
    "413": "The body is too large.",
    "415": "The body is not `application/json` in UTF-8.",
    "422": "The project's settings do not allow the text.",
}
PROBLEM_SCHEMA = {
    "type": "object",
    "description": "RFC 9457. A `code` may add members, listed in docs/errors.md.",
    "required": ["type", "title", "status", "code", "detail", "errors", "request_id"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string"},
        "detail": {"type": "string"},
        "errors": {
            "type": "object",
            "additionalProperties": {"type": "array", "items": {"type": "string"}},
        },
        "request_id": {"type": "string"},
    },
}


class OperationSchema(AutoSchema):
    """Document the header Idempotency-Key of the methods that take it, and path parameters.

    A view describes the parameters of its path in `path_help`.
    """

    def get_operation(self, *args: Any, **kwargs: Any) -> Any:
        operation = super().get_operation(*args, **kwargs)
        helps: Mapping[str, str] = getattr(self.view, "path_help", {})
        for parameter in (operation or {}).get("parameters", []):
            if parameter["in"] == "path" and parameter["name"] in helps:
                parameter.setdefault("description", helps[parameter["name"]])
        return operation

    def get_override_parameters(self) -> list[Any]:
        parameters: list[Any] = super().get_override_parameters()
        is_idempotent = self.method in getattr(self.view, "idempotent_methods", ())
        return [*parameters, IDEMPOTENCY_KEY] if is_idempotent else parameters


def mark_nullable(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Hook of drf-spectacular: write `null` as in OpenAPI 3.0, not as pydantic does."""
    for schema in result.get("components", {}).get("schemas", {}).values():
        _mark_nullable(schema)
    return result


def _mark_nullable(schema: Any) -> None:
    if isinstance(schema, list):
        for item in schema:
            _mark_nullable(item)
    if not isinstance(schema, dict):
        return
    choices = schema.get("anyOf")
    if isinstance(choices, list) and {"type": "null"} in choices:
        rest = [choice for choice in choices if choice != {"type": "null"}]
        del schema["anyOf"]
        schema |= rest[0] if len(rest) == 1 else {"anyOf": rest}
        schema["nullable"] = True
    for value in schema.values():
        _mark_nullable(value)


def close_bodies(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Hook of drf-spectacular: say that a body has no other fields than its schema lists.

    Free objects, such as metadata, have no properties and stay open.
    """
    components = result.get("components", {}).get("schemas", {})
    seen: set[str] = set()
    for operations in result["paths"].values():
        for method in METHODS:
            _close(operations.get(method, {}).get("requestBody"), components, seen)
    return result


def _close(schema: Any, components: dict[str, Any], seen: set[str]) -> None:
    if isinstance(schema, list):
        for item in schema:
            _close(item, components, seen)
    if not isinstance(schema, dict):
        return
    if isinstance(schema.get("properties"), dict):
        schema.setdefault("additionalProperties", False)
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    if name and name not in seen:
        seen.add(name)
        _close(components[name], components, seen)
    for value in schema.values():
        _close(value, components, seen)


def add_problems(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Hook of drf-spectacular: document the problems of every operation."""
    schemas = result.setdefault("components", {}).setdefault("schemas", {})
    schemas["Problem"] = PROBLEM_SCHEMA
    for path, operations in result["paths"].items():
        # A key of the caller's own may name several rows, one of each user.
        has_key = "{key}" in path
        for method in METHODS:
            if method in operations:
                may_conflict = has_key or method != "get"
                _add_responses(operations[method], may_conflict=may_conflict)
    return result


def _add_responses(operation: dict[str, Any], *, may_conflict: bool) -> None:
    problems = COMMON_PROBLEMS | (WRITE_PROBLEMS if may_conflict else {})
    problems |= BODY_PROBLEMS if "requestBody" in operation else {}
    for status, description in problems.items():
        schema = {"$ref": "#/components/schemas/Problem"}
        operation["responses"].setdefault(
            status,
            {"description": description, "content": {MEDIA_TYPE: {"schema": schema}}},
        )
