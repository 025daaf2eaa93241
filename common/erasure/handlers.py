"""Where a person's text can stand, and how a purge takes it away.

Each app registers its tables here. A purge asks every part what it reaches, has the
rows held and made ready, and then masks them (`common.erasure.redaction`).
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
    """Columns of a table, and the rows of it that a purge reaches.

    Without `ways` the row is removed. `derived` columns follow from the others: `renew`
    sets them on a masked row. Without `rows` they are counted anew by their part.
    """

    model: type[Model]
    rows: RowQuery | None
    ways: Mapping[str, Redactor] = field(default_factory=dict)
    derived: Sequence[str] = ()
    renew: Callable[[Any], None] | None = None
    removed: Sequence[str] = ()

    @property
    def table(self) -> str:
        return self.model._meta.db_table

    @property
    def columns(self) -> set[str]:
        return {*self.ways, *self.derived, *self.removed}


class ErasureHandler:
    """What an app adds to a purge. The apps above come first in every step."""

    holdings: Sequence[ErasableColumns] = ()
    # Why a column that could hold a text holds none of a person's: {model: {column: why}}.
    no_text: Mapping[type[Model], Mapping[str, str]] = {}

    def reach(self, reach: ErasureScope) -> None:
        """Add what follows from what is reached; asked until nothing is new."""

    def hold(self, reach: ErasureScope) -> None:
        """Lock what is reached, or refuse; in the order of docs/tables.md."""

    def before(self, reach: ErasureScope, purge_id: uuid.UUID, caller: Caller) -> None:
        """Take the rows out of use, while their texts are still known."""

    def after(self, reach: ErasureScope) -> None:
        """Count anew what was counted over the texts."""


ERASURE_HANDLERS: list[ErasureHandler] = []


def register(part: type[ErasureHandler]) -> type[ErasureHandler]:
    ERASURE_HANDLERS.append(part())
    return part


def all_handlers() -> Iterator[ErasureHandler]:
    """The apps above first: they refer to those below."""
    return reversed(ERASURE_HANDLERS)


def erasable_columns() -> Iterator[ErasableColumns]:
    return (holding for part in all_handlers() for holding in part.holdings)


def expand_scope(reach: ErasureScope) -> None:
    """Let every part add what follows, until nothing is new."""
    size = -1
    while size != len(reach.all):
        size = len(reach.all)
        for part in ERASURE_HANDLERS:
            part.reach(reach)
