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
from common.text import plain_text

FormInput = Mapping[str, str]


def from_request(request: HttpRequest) -> dict[str, str]:
    """Return the posted fields as they can be stored; CR LF of a browser becomes LF."""
    return {
        name: plain_text.make_storable(plain_text.with_newlines(str(value)))
        for name, value in request.POST.items()
    }


def validate_filled(
    form: type[serializers.Serializer[Any]], fields: FormInput
) -> dict[str, Any]:
    """Validate only the fields that are filled; an API client would not send empty ones."""
    return validate(form, {name: value for name, value in fields.items() if value})


def validate(
    form: type[serializers.Serializer[Any]], fields: FormInput
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
