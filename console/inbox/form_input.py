"""Validate what a person typed, and describe refusals.

The serializers of the API validate the input.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest
from rest_framework import serializers

from common import errors
from common.api.problem import field_errors
from common.secret_masks import mask_value
from common.text import plain_text

# The fields that become the text of an entry.
ENTRY_TEXTS = frozenset(
    [
        "content",
        "condition",
        "action",
        "tags",
        "applies_to",
        "left_content",
        "right_content",
        "left_condition",
        "right_condition",
        "csrfmiddlewaretoken",
    ]
)
FormInput = Mapping[str, str]


def from_request(request: HttpRequest) -> dict[str, str]:
    """Return the posted fields as they can be stored: with LF only, and without secrets.

    The functions that take the text of an entry refuse secrets themselves.
    """
    fields = {
        name: plain_text.make_storable(plain_text.with_newlines(str(value)))
        for name, value in request.POST.items()
    }
    others = {n: value for n, value in fields.items() if n not in ENTRY_TEXTS}
    masked: dict[str, str] = mask_value(others)[0]
    return {**fields, **masked}


def validate_filled(
    form: type[serializers.Serializer[Any]], fields: FormInput
) -> dict[str, Any]:
    """Validate only the fields that are filled; an API client would not send empty ones."""
    return validate(form, {name: value for name, value in fields.items() if value})


def validate(
    form: type[serializers.Serializer[Any]], fields: Mapping[str, Any]
) -> dict[str, Any]:
    bound = form(data=fields)
    if not bound.is_valid():
        raise errors.Invalid(errors=field_errors(bound.errors, bound))
    data: dict[str, Any] = bound.validated_data
    return data


def describe_refusal(refusal: errors.Refusal) -> str:
    fields = (
        f"{name}: {' '.join(messages)}" for name, messages in refusal.errors.items()
    )
    return " ".join([refusal.detail, *fields])
