"""Redact or delete the rows of a purge, and collect an HMAC of each text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from common.erasure.handlers import ErasableColumns, erasable_columns
from common.erasure.redaction import hmac_of, removed_texts
from common.erasure.references import BATCH_SIZE
from common.erasure.scope import ErasureScope

# A row, and the new values of its columns with text: {column: value}.
RowChange = tuple[Any, dict[str, Any]]


@dataclass(frozen=True)
class TextTrace:
    """The HMAC of an erased text, and the column that held it."""

    hmac: str
    table: str
    column: str
    row_id: str


def count_rows(erasure: ErasureScope) -> dict[str, int]:
    """Count the rows of each table that a purge would change or delete now."""
    counts: dict[str, int] = {}
    for columns in erasable_columns():
        if number := sum(1 for _ in _affected_rows(columns, erasure)):
            counts[columns.table] = counts.get(columns.table, 0) + number
    return counts


def erase_rows(erasure: ErasureScope) -> tuple[dict[str, int], list[TextTrace]]:
    """Redact or delete the rows; return the number of rows in each table, and the HMACs.

    Call this function inside `append_only.allow_changes()`, in the transaction of the
    purge.
    """
    counts: dict[str, int] = {}
    traces: dict[str, TextTrace] = {}
    for columns in erasable_columns():
        for batch in _batches(_affected_rows(columns, erasure)):
            for row, values in batch:
                for trace in _removed_traces(columns, row, values):
                    traces.setdefault(trace.hmac, trace)
            _erase_batch(columns, batch)
            counts[columns.table] = counts.get(columns.table, 0) + len(batch)
    return counts, list(traces.values())


def _affected_rows(
    columns: ErasableColumns, erasure: ErasureScope
) -> Iterator[RowChange]:
    """Iterate over the rows that are not purged yet, with their new values."""
    if columns.rows is None:
        return
    for row in columns.rows(erasure).order_by("pk").iterator(chunk_size=BATCH_SIZE):
        values = {}
        for name, redact in columns.redactors.items():
            old = getattr(row, name)
            if old is not None and (new := redact(old)) != old:
                values[name] = new
        if values or not columns.redactors:
            yield row, values


def _batches(rows: Iterator[RowChange]) -> Iterator[list[RowChange]]:
    while batch := list(islice(rows, BATCH_SIZE)):
        yield batch


def _removed_traces(
    columns: ErasableColumns, row: Any, values: Mapping[str, Any]
) -> Iterator[TextTrace]:
    for name in values or columns.deleted:
        for text in filter(None, removed_texts(getattr(row, name), values.get(name))):
            yield TextTrace(hmac_of(text), columns.table, name, str(row.pk))


def _apply_values(columns: ErasableColumns, row: Any, values: Mapping[str, Any]) -> Any:
    for name, value in values.items():
        setattr(row, name, value)
    if columns.recompute:
        columns.recompute(row)
    return row


def _erase_batch(columns: ErasableColumns, batch: Sequence[RowChange]) -> None:
    manager = columns.model._base_manager
    if not columns.redactors:
        manager.filter(pk__in=[row.pk for row, _ in batch]).delete()
        return
    pk = columns.model._meta.pk
    assert pk
    # Every row exists, so every insert conflicts and becomes an update.
    # `bulk_update` would build a CASE for each row and column, and would take ten times as
    # long.
    manager.bulk_create(
        [_apply_values(columns, row, values) for row, values in batch],
        update_conflicts=True,
        unique_fields=[pk.name],
        update_fields={*columns.derived, *(name for _, new in batch for name in new)},
    )
