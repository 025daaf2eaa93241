"""What somebody typed, read as the API reads it, and a refusal in words."""

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
    """A browser sends every line break as CR LF; texts are kept with LF."""
    return {
        name: plain_text.with_newlines(str(value))
        for name, value in request.POST.items()
    }


def validate_filled(
    form: type[serializers.Serializer[Any]], typed: FormInput
) -> dict[str, Any]:
    """An empty field of a page is one that the API would not be sent."""
    return validate(form, {name: value for name, value in typed.items() if value})


def validate(
    form: type[serializers.Serializer[Any]], typed: FormInput
) -> dict[str, Any]:
    bound = form(data=typed)
    if not bound.is_valid():
        raise errors.Invalid(errors=field_errors(bound.errors, bound))
    data: dict[str, Any] = bound.validated_data
    return data


def describe_refusal(refusal: errors.Refusal) -> str:
    fields = (f"{name}: {' '.join(told)}" for name, told in refusal.errors.items())
    return " ".join([refusal.detail, *fields])
