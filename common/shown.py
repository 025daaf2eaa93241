"""Rows as JSON, by the dozen."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from operator import attrgetter
from typing import Any

from rest_framework import serializers


class Shown(serializers.Serializer[Any]):
    """Mix in where each field is a plain attribute of the object, and always there.

    DRF asks each field of each row anew how it is read, whether it is there and whether
    it is to be called: that is half of what ten memories take.
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
