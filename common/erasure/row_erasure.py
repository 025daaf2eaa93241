"""TODO docstring."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from common.erasure.handlers import ErasableColumns, erasable_columns
from common.erasure.redaction import hmac_of, removed_texts
from common.erasure.references import BATCH_SIZE
from common.erasure.scope import ErasureScope

# A row, and what takes the place of its texts: {column: value}.
RowChange = tuple[Any, dict[str, Any]]


@dataclass(frozen=True)
class TextTrace:
    """The HMAC of a text, and where it stood."""

    hmac: str
    table: str
    column: str
    row_id: str


def count_rows(reach: ErasureScope) -> dict[str, int]:
    """How many rows of which table a purge would change or remove now."""
    found: dict[str, int] = {}
    for holding in erasable_columns():
        if number := sum(1 for _ in _affected_rows(holding, reach)):
            found[holding.table] = found.get(holding.table, 0) + number
    return found


def erase_rows(reach: ErasureScope) -> tuple[dict[str, int], list[TextTrace]]:
    """Mask or remove what is reached: how many rows of which table, and the HMACs.

    Inside `append_only.unlocked()`, in the one transaction of the purge.
    """
    found: dict[str, int] = {}
    texts: dict[str, TextTrace] = {}
    for holding in erasable_columns():
        for batch in _batches(_affected_rows(holding, reach)):
            for row, changed in batch:
                for each in _removed_traces(holding, row, changed):
                    texts.setdefault(each.hmac, each)
            _erase_batch(holding, batch)
            found[holding.table] = found.get(holding.table, 0) + len(batch)
    return found, list(texts.values())


def _affected_rows(
    holding: ErasableColumns, reach: ErasureScope
) -> Iterator[RowChange]:
    """The rows that are not purged yet, with what takes the place of their texts."""
    if holding.rows is None:
        return
    for row in holding.rows(reach).order_by("pk").iterator(chunk_size=BATCH_SIZE):
        changed = {}
        for column, way in holding.ways.items():
            old = getattr(row, column)
            if old is not None and (new := way(old)) != old:
                changed[column] = new
        if changed or not holding.ways:
            yield row, changed


def _batches(rows: Iterator[RowChange]) -> Iterator[list[RowChange]]:
    while batch := list(islice(rows, BATCH_SIZE)):
        yield batch


def _removed_traces(
    holding: ErasableColumns, row: Any, changed: Mapping[str, Any]
) -> Iterator[TextTrace]:
    for column in changed or holding.removed:
        for said in filter(
            None, removed_texts(getattr(row, column), changed.get(column))
        ):
            yield TextTrace(hmac_of(said), holding.table, column, str(row.pk))


def _apply_change(
    holding: ErasableColumns, row: Any, changed: Mapping[str, Any]
) -> Any:
    for column, value in changed.items():
        setattr(row, column, value)
    if holding.renew:
        holding.renew(row)
    return row


def _erase_batch(holding: ErasableColumns, batch: Sequence[RowChange]) -> None:
    if not holding.ways:
        gone = holding.model._base_manager.filter(pk__in=[row.pk for row, _ in batch])
        gone.delete()
        return
    pk = holding.model._meta.pk
    assert pk
    # All of them are there: every row conflicts, and is updated by the new one.
    # `bulk_update` builds a CASE for each row and column, ten times as slow.
    holding.model._base_manager.bulk_create(
        [_apply_change(holding, row, changed) for row, changed in batch],
        update_conflicts=True,
        unique_fields=[pk.name],
        update_fields={*holding.derived, *(name for _, new in batch for name in new)},
    )
