"""Read lists and objects that a client sends as JSON in a text, or as lines, or names with commas."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from rest_framework import serializers

from common.text import storable_json

LISTS = (serializers.ListSerializer, serializers.ListField)
OBJECTS = (serializers.Serializer, serializers.DictField)
_LINE = re.compile(r"[ \t]{0,8}\n[ \t]{0,8}")
_COMMA = re.compile(r"[ \t]{0,8}[,\n][ \t]{0,8}")
# Lists of names; in a list of sentences, a comma is a part of one.
_NAMES = re.compile(r"(?:\w{0,40}_)?(?:tags|paths|files|names|ids)|cited")


def read_arguments(
    kind: type[serializers.Serializer[Any]], sent: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments with the lists and objects that their fields have."""
    return _read_object(kind().fields, sent)


def _read_object(fields: Mapping[str, Any], sent: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _read_field(fields[name], value) if name in fields else value
        for name, value in sent.items()
    }


def _read_field(field: Any, value: Any) -> Any:
    """Return a value in the form of its field; what cannot be read stays for its check."""
    if isinstance(field, LISTS):
        value = _read_list(field, value) if isinstance(value, str) else value
        if isinstance(value, list):
            return [_read_field(field.child, each) for each in value]
    elif isinstance(field, OBJECTS):
        value = read_json(value)
        if isinstance(value, dict) and isinstance(field, serializers.Serializer):
            return _read_object(field.fields, value)
    elif type(field) is serializers.JSONField:
        return read_json(value)
    return value


def _read_list(field: Any, text: str) -> Any:
    value = read_json(text)
    if isinstance(value, list):
        return value
    if isinstance(field.child, (*LISTS, *OBJECTS)):
        return [value]
    is_names = isinstance(field.child, serializers.ChoiceField) or _NAMES.fullmatch(
        field.field_name or ""
    )
    return [
        each for each in (_COMMA if is_names else _LINE).split(text.strip()) if each
    ]


def read_json(value: Any) -> Any:
    """Return the list or object of a text; another value as it is."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
        return value
    try:
        return storable_json.parse(value, levels=settings.BODY_DEPTH)
    except (ValueError, RecursionError):
        return value
