"""Name the fields of a request that no schema knows, with the nearest known name of each."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Self, get_args

from pydantic import BaseModel, ValidationError

from common import errors
from common.text import plain_text, secrets, visible

NOUNS = {"body": "field", "query": "query parameter", "settings": "setting"}
MAX_LISTED = 20  # unknown fields that an answer names
MAX_NAME = 40  # characters of a name that an answer repeats; no field of ours is longer
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NOT_WORD = re.compile(r"[\W_]+")


class UnknownField(errors.Invalid):
    """The request has a field that this route does not know; remove or rename it."""

    code = "unknown_field"


@dataclass(frozen=True)
class KnownFields:
    """The names that an object may have, and those of the objects inside it.

    `read_only` are fields that an answer has and a request may not set.
    """

    names: frozenset[str] = frozenset()
    inner: Mapping[str, KnownFields] = field(default_factory=dict)
    read_only: frozenset[str] = frozenset()


@dataclass(frozen=True)
class UnknownName:
    """A name that `known` lacks; `path` is the path of the object that has the name."""

    path: str
    name: str
    known: KnownFields

    @property
    def shown_path(self) -> str:
        return _join(self.path, shorten(self.name))

    def describe(self, noun: str) -> str:
        """Return a sentence with the nearest known name, if one is near."""
        nearest = find_nearest(self.name, self.known)
        meant = f"; did you mean `{_join(self.path, nearest)}`?" if nearest else "."
        if self.name in self.known.read_only:
            meant = f"; did you mean `{nearest}`?" if nearest else "; leave it out."
            return f"`{self.shown_path}` is read-only{meant}"
        if not self.known.names:
            meant = f"; this {'object' if self.path else 'route'} has none."
        return f"Unknown {noun} `{self.shown_path}`{meant}"


@dataclass(frozen=True)
class UnknownFields:
    """The unknown fields of a body, a query or settings; it is false if there are none."""

    names: Sequence[UnknownName] = ()
    where: str = "body"

    def __bool__(self) -> bool:
        return bool(self.names)

    @property
    def paths(self) -> list[str]:
        return [one.shown_path for one in self._first_names]

    @property
    def by_path(self) -> dict[str, list[str]]:
        """Return the message about each name, by the path of the name."""
        found: dict[str, list[str]] = {}
        for one in self._first_names:
            found.setdefault(one.shown_path, []).append(one.describe(self.noun))
        if len(self.names) > MAX_LISTED:
            found.setdefault(self.where, []).append(
                f"There are more unknown {self.noun}s."
            )
        return found

    @property
    def known_names(self) -> dict[str, list[str]]:
        """Return the known names of each object that has unknown ones, by its path."""
        return {
            one.path or self.where: sorted(one.known.names) for one in self._first_names
        }

    @property
    def refusal(self) -> UnknownField:
        return self.refusal_with({})

    def refusal_with(self, others: errors.FieldErrors) -> UnknownField:
        """Return the refusal that also names the other wrong fields of the request."""
        return UnknownField(
            " ".join([*self.messages[:3], "`known_fields` lists what you can send."]),
            errors=merge_errors(self.by_path, others),
            known_fields=self.known_names,
        )

    @property
    def messages(self) -> list[str]:
        return [message for messages in self.by_path.values() for message in messages]

    @property
    def noun(self) -> str:
        return NOUNS[self.where]

    @property
    def _first_names(self) -> Sequence[UnknownName]:
        return self.names[:MAX_LISTED]

    @classmethod
    def find(cls, known: KnownFields, data: Any, where: str = "body") -> Self:
        return cls(tuple(islice(_find(known, data, ""), MAX_LISTED + 1)), where)


def _find(known: KnownFields, data: Any, path: str) -> Iterator[UnknownName]:
    """Yield the unknown names of an object, or of each object of a list."""
    if isinstance(data, list):
        for position, item in enumerate(data):
            yield from _find(known, item, _join(path, str(position)))
    if not isinstance(data, Mapping):
        return
    for name in data:
        if name not in known.names:
            yield UnknownName(path, name, known)
    for name, inner in known.inner.items():
        if name in data:
            yield from _find(inner, data[name], _join(path, name))


def refusal_of(
    error: ValidationError, model: type[BaseModel], path: str = ""
) -> errors.Refusal:
    """Return the refusal of settings that do not fit the model; `path` is theirs."""
    wrong: dict[str, list[str]] = {}
    unknown: list[UnknownName] = []
    for one in error.errors(include_url=False, include_input=False):
        *outer, name = [*filter(None, [path]), *map(str, one["loc"])] or [path]
        if one["type"] == "extra_forbidden":
            names = frozenset(_model_at(model, one["loc"][:-1]).model_fields)
            unknown.append(UnknownName(".".join(outer), name, KnownFields(names)))
        else:
            wrong.setdefault(".".join([*outer, name]), []).append(one["msg"])
    if unknown:
        return UnknownFields(tuple(unknown), "settings").refusal_with(wrong)
    return errors.Invalid(errors=wrong)


def _model_at(model: type[BaseModel], path: Iterable[int | str]) -> type[BaseModel]:
    for name in path:
        if isinstance(name, str):
            model = next(_models_in(model.model_fields[name].annotation))
    return model


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models that an annotation such as `list[Model] | None` names."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)


def find_nearest(name: str, known: KnownFields) -> str | None:
    """Return the known name that the sender most likely meant."""
    plain = normalise(name[:200])
    if plain in known.names:
        return plain
    for outer, inner in known.inner.items():
        if plain in inner.names:
            return f"{outer}.{plain}"
    parts = [each for each in sorted(known.names) if each.endswith(f"_{plain}")]
    near = difflib.get_close_matches(plain[:MAX_NAME], sorted(known.names), n=1)
    if name in known.read_only:
        near = []
    return next(iter([*parts, *near]), None)


def normalise(name: str) -> str:
    """Write a name as our fields are written: `projectId` and `Project-ID` as `project_id`."""
    return _NOT_WORD.sub("_", _CAMEL.sub("_", name)).strip("_").lower()


def shorten(name: str) -> str:
    """Return a name that an answer and the log may repeat; it may be a secret."""
    plain = visible.drop_invisible(secrets.mask(name[:200]).text)
    return plain_text.clip(plain, MAX_NAME)


def merge_errors(*several: errors.FieldErrors) -> dict[str, list[str]]:
    merged: dict[str, list[str]] = {}
    for found in several:
        for path, messages in found.items():
            merged.setdefault(path, []).extend(messages)
    return merged


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
