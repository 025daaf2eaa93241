"""Mixins and functions for the serializers of the API."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from functools import cached_property
from operator import attrgetter
from typing import Any, ClassVar

from rest_framework import serializers

from common import errors
from common.api.problem import field_errors
from common.pagination import DEFAULT_LIMIT, MAX_LIMIT
from common.text.normalise import normalise
from common.unknown_fields import KnownFields, UnknownFields


class PlainSerializer(serializers.Serializer[Any]):
    """Mixin for a serializer whose fields are plain attributes that always exist.

    For each field of each row, DRF decides how to read the field, whether it exists and
    whether to call it. For ten memories, these decisions take half of the time.
    """

    def to_representation(self, instance: Any) -> dict[str, Any]:
        return {
            name: None if (value := read(instance)) is None else shape(value)
            for name, read, shape in self._readers
        }

    @cached_property
    def _readers(self) -> list[tuple[str, Callable[[Any], Any], Callable[[Any], Any]]]:
        return [
            (name, _reader(field.source or name), field.to_representation)
            for name, field in self.fields.items()
            if not field.write_only
        ]


def _reader(source: str) -> Callable[[Any], Any]:
    return attrgetter(source) if source != "*" else lambda instance: instance


class NameField(serializers.CharField):
    """A name that is kept in NFC, so that every keyboard types one and the same name."""

    def to_internal_value(self, data: Any) -> str:
        return normalise(super().to_internal_value(data), "NFC")


class InProject(serializers.Serializer[Any]):
    """Mixin for a body or a query that names a project; see `ProjectView.project`."""

    project_id = serializers.CharField(
        max_length=200, help_text="The project's id or name."
    )
    project = serializers.CharField(
        max_length=200,
        required=False,
        help_text="Another name of `project_id`; send one of the two.",
    )

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return super().to_internal_value(data)
        if data.get("project_id") is None and data.get("project") is not None:
            data = data.copy()  # type: ignore[attr-defined]  # a dict or a QueryDict
            data["project_id"] = data["project"]
        return super().to_internal_value(data)


class NullIsAbsent(serializers.Serializer[Any]):
    """Mixin that accepts null for an optional field, because agents send it."""

    # The optional fields in which null is a value of its own.
    null_fields: ClassVar[frozenset[str]] = frozenset()

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        fields = super().get_fields()
        for field in fields.values():
            field.allow_null = not field.required
        return fields

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            optional = {name for name, field in self.fields.items() if field.allow_null}
            optional -= self.null_fields
            data = {
                name: value
                for name, value in data.items()
                if value is not None or name not in optional
            }
        return super().to_internal_value(data)


class PageQuery(serializers.Serializer[Any]):
    """Mixin for the query of a list; `ApiView.page` reads both fields itself."""

    limit = serializers.IntegerField(
        required=False, min_value=1, max_value=MAX_LIMIT, default=DEFAULT_LIMIT
    )
    cursor = serializers.CharField(
        required=False, help_text="From `next` or `previous` of another page."
    )


class NoFields(serializers.Serializer[Any]):
    """A body or a query without fields."""


def represent(kind: type[serializers.Serializer[Any]], value: object) -> Any:
    """Return a value as JSON, by a serializer that reads no context."""
    return _instance(kind).to_representation(value)


def validate(
    kind: type[serializers.Serializer[Any]],
    data: Any,
    unknown: UnknownFields | None = None,
) -> dict[str, Any]:
    """Return the validated fields of a body or a query; raise Invalid or UnknownField.

    `unknown` are the fields to refuse; by default they are those that the serializer does
    not know.
    """
    if unknown is None:
        unknown = UnknownFields.find(known_fields(kind), data)
    serializer = _instance(kind)
    try:
        fields: dict[str, Any] = serializer.run_validation(data)
    except serializers.ValidationError as error:
        wrong = field_errors(error.detail, serializer)
        if unknown:
            raise unknown.refusal_with(wrong) from None
        raise errors.Invalid(errors=wrong) from None
    if unknown:
        raise unknown.refusal
    return fields


@functools.cache
def known_fields(
    kind: type[serializers.Serializer[Any]],
    row: type[serializers.Serializer[Any]] | None = None,
) -> KnownFields:
    """Return the names that a serializer reads; those that only `row` has are read-only."""
    known = _known_fields(_instance(kind))
    shown = frozenset(_instance(row).fields) if row else frozenset()
    return KnownFields(known.names, known.inner, shown - known.names)


def _known_fields(serializer: serializers.Serializer[Any]) -> KnownFields:
    fields = {n: field for n, field in serializer.fields.items() if not field.read_only}
    inner = {n: _inner_serializer(field) for n, field in fields.items()}
    return KnownFields(
        frozenset(fields), {n: _known_fields(each) for n, each in inner.items() if each}
    )


def _inner_serializer(field: Any) -> serializers.Serializer[Any] | None:
    """Return the serializer of an object or of each object of a list; None for free JSON."""
    if isinstance(field, serializers.ListSerializer | serializers.ListField):
        field = field.child
    return field if isinstance(field, serializers.Serializer) else None


@functools.cache
def _instance(kind: type[serializers.Serializer[Any]]) -> serializers.Serializer[Any]:
    """Share one instance among requests, because creating the fields takes longest."""
    return kind()


@functools.cache
def page_of(
    results: type[serializers.BaseSerializer[Any]],
) -> type[serializers.Serializer[Any]]:
    """Return the serializer of a page of results, for the schema."""
    name = results.__name__.removesuffix("Serializer")
    return type(
        f"{name}PageSerializer",
        (serializers.Serializer,),
        {
            "results": results(many=True),
            "next": serializers.URLField(allow_null=True),
            "previous": serializers.URLField(allow_null=True),
        },
    )
