"""Write the JSON Schema of a serializer, as short as a list of tools should be.

Lengths and formats are left out: they cost tokens in every session of an agent, and a
refusal names them when they matter.
"""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.fields import empty

TYPES: tuple[tuple[type[serializers.Field[Any, Any, Any, Any]], str], ...] = (
    (serializers.BooleanField, "boolean"),
    (serializers.IntegerField, "integer"),
    (serializers.FloatField, "number"),
    (serializers.DictField, "object"),
)


def input_schema(kind: type[serializers.Serializer[Any]]) -> dict[str, Any]:
    """Return the schema of the arguments of a tool."""
    fields = kind().fields
    required = [name for name, field in fields.items() if field.required]
    return _object(fields, required) | {"additionalProperties": False}


def output_schema(kind: type[serializers.Serializer[Any]]) -> dict[str, Any]:
    """Return the schema of an answer; fields that are not always there are `required=False`."""
    fields = kind().fields
    return _object(fields, [name for name, field in fields.items() if field.required])


def _object(fields: Any, required: list[str]) -> dict[str, Any]:
    properties = {name: _field(field) for name, field in fields.items()}
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    return schema | {"required": required} if required else schema


def _field(field: Any) -> dict[str, Any]:
    schema = _type(field)
    if field.help_text:
        schema["description"] = str(field.help_text)
    if field.default not in (empty, "", None, list, dict):
        schema["default"] = field.default
    return schema


def _type(field: Any) -> dict[str, Any]:
    if isinstance(field, serializers.ListSerializer | serializers.ListField):
        return {"type": "array", "items": _field(field.child)}
    if isinstance(field, serializers.Serializer):
        names = [name for name, one in field.fields.items() if one.required]
        return _object(field.fields, names)
    if isinstance(field, serializers.ChoiceField):
        return {"type": "string", "enum": list(field.choices)}
    if type(field) is serializers.JSONField:
        return {"type": ["string", "number", "boolean", "object", "array"]}
    name = next((name for kind, name in TYPES if isinstance(field, kind)), "string")
    schema: dict[str, Any] = {"type": name}
    for key, limit in (("minimum", "min_value"), ("maximum", "max_value")):
        if getattr(field, limit, None) is not None:
            schema[key] = getattr(field, limit)
    return schema
