from __future__ import annotations

from typing import Any

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter

from common.api.problem import MEDIA_TYPE

IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="1 to 255 printable characters; sent again with the same body it "
    "gives the first answer again, for 7 days.",
)
METHODS = ("get", "post", "put", "patch", "delete")
COMMON_PROBLEMS = {
    "400": "The request does not fit; `errors` names each field.",
    "401": "No key, or one that is unknown, expired or revoked.",
    "403": "The role is too low.",
    "404": "There is no such row, or it is not yours to see.",
    "429": "Too many requests; see Retry-After.",
    "503": "Busy or away; see Retry-After.",
}
WRITE_PROBLEMS = {
    "409": "The row, or the Idempotency-Key, is in a state that does not allow this.",
    "413": "The body is too large.",
    "415": "The body is not `application/json` in UTF-8.",
    "422": "The text is refused by the project's settings.",
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
    """An operation of a door, with the Idempotency-Key where it takes one."""

    def get_override_parameters(self) -> list[Any]:
        given: list[Any] = super().get_override_parameters()
        is_idempotent = self.method in getattr(self.view, "idempotent_methods", ())
        return [*given, IDEMPOTENCY_KEY] if is_idempotent else given


def mark_nullable(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """A drf-spectacular hook: `null` as OpenAPI 3.0 writes it, not as pydantic does."""
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
        kept = [choice for choice in choices if choice != {"type": "null"}]
        del schema["anyOf"]
        schema |= kept[0] if len(kept) == 1 else {"anyOf": kept}
        schema["nullable"] = True
    for value in schema.values():
        _mark_nullable(value)


def add_problems(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """A drf-spectacular hook: document the problems of every operation."""
    schemas = result.setdefault("components", {}).setdefault("schemas", {})
    schemas["Problem"] = PROBLEM_SCHEMA
    for operations in result["paths"].values():
        for method in METHODS:
            if method in operations:
                _add_responses(operations[method], is_write=method != "get")
    return result


def _add_responses(operation: dict[str, Any], *, is_write: bool) -> None:
    for status, description in {
        **COMMON_PROBLEMS,
        **(WRITE_PROBLEMS if is_write else {}),
    }.items():
        schema = {"$ref": "#/components/schemas/Problem"}
        operation["responses"].setdefault(
            status,
            {"description": description, "content": {MEDIA_TYPE: {"schema": schema}}},
        )
