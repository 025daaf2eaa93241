"""Register the columns that can hold a person's text, and how a purge changes each column.

An app registers one `ErasureHandler` in its module `personal_data`. Django imports these
modules in the order of INSTALLED_APPS, lower apps first.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Model, QuerySet

from common.caller import Caller
from common.erasure.redaction import Redactor
from common.erasure.scope import ErasureScope

RowQuery = Callable[[ErasureScope], QuerySet[Any]]


@dataclass(frozen=True)
class ErasableColumns:
    """Columns of a table, and the query for the rows that a purge changes.

    If there are no `redactors`, a purge deletes the rows, and `deleted` names the columns
    with text. `derived` columns are computed from other columns; `recompute` sets the
    derived columns of a redacted row. If `rows` is None, the handler itself recomputes the
    table in `finish`.
    """

    model: type[Model]
    rows: RowQuery | None
    redactors: Mapping[str, Redactor] = field(default_factory=dict)
    derived: Sequence[str] = ()
    recompute: Callable[[Any], None] | None = None
    deleted: Sequence[str] = ()

    @property
    def table(self) -> str:
        return self.model._meta.db_table

    @property
    def columns(self) -> set[str]:
        return {*self.redactors, *self.derived, *self.deleted}


class ErasureHandler:
    """The part of a purge that one app does. In every step, higher apps come first."""

    erasable: Sequence[ErasableColumns] = ()
    # {model: {column: reason}}: the reason why a text column holds no personal text.
    no_text: Mapping[type[Model], Mapping[str, str]] = {}

    def expand(self, erasure: ErasureScope) -> None:
        """Add rows that depend on rows in the scope; it is called until it adds no new row."""

    def is_large(self, erasure: ErasureScope) -> bool:
        """Return whether the scope has too many rows to purge while a caller waits."""
        return False

    def lock(self, erasure: ErasureScope) -> None:
        """Lock the rows in the order of docs/tables.md, or refuse."""

    def prepare(
        self, erasure: ErasureScope, purge_id: uuid.UUID, caller: Caller
    ) -> None:
        """Take the rows out of use before their texts are erased."""

    def finish(self, erasure: ErasureScope) -> None:
        """Recompute statistics that were computed from the erased texts."""


def rows_of(model: Any, kind: str, path: str = "pk") -> RowQuery:
    """Return the query for the rows of the erased objects of a kind."""
    return lambda erasure: model.objects.filter(**{f"{path}__in": erasure.ids_of(kind)})


ERASURE_HANDLERS: list[ErasureHandler] = []


def register(handler: type[ErasureHandler]) -> type[ErasureHandler]:
    ERASURE_HANDLERS.append(handler())
    return handler


def all_handlers() -> Iterator[ErasureHandler]:
    """Iterate from the highest app to the lowest, because rows refer to rows of lower apps."""
    return reversed(ERASURE_HANDLERS)


def erasable_columns() -> Iterator[ErasableColumns]:
    return (columns for handler in all_handlers() for columns in handler.erasable)


def expand_scope(erasure: ErasureScope) -> None:
    """Let every handler add dependent rows, until no handler adds a new row."""
    size = -1
    while size != len(erasure.all_ids):
        size = len(erasure.all_ids)
        for handler in ERASURE_HANDLERS:
            handler.expand(erasure)
