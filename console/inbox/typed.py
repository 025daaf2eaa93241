"""What somebody typed, read as the API reads it, and a refusal in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest
from rest_framework import serializers

from common import errors, text
from common.problem import field_errors

Typed = Mapping[str, str]


def of(request: HttpRequest) -> dict[str, str]:
    """A browser sends every line break as CR LF; texts are kept with LF."""
    return {
        name: text.with_newlines(str(value)) for name, value in request.POST.items()
    }


def read(form: type[serializers.Serializer[Any]], typed: Typed) -> dict[str, Any]:
    """An empty field of a page is one that the API would not be sent."""
    return checked(form, {name: value for name, value in typed.items() if value})


def checked(form: type[serializers.Serializer[Any]], typed: Typed) -> dict[str, Any]:
    bound = form(data=typed)
    if not bound.is_valid():
        raise errors.Invalid(errors=field_errors(bound.errors, bound))
    data: dict[str, Any] = bound.validated_data
    return data


def in_words(refusal: errors.Refusal) -> str:
    fields = (f"{name}: {' '.join(told)}" for name, told in refusal.errors.items())
    return " ".join([refusal.detail, *fields])
