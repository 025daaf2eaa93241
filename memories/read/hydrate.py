"""Load the memories of a page of hits, with their files, in one statement."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, TypeVar

from django.db.models import Model, QuerySet

from common.db import RowReader
from memories.models import File, Memory, MemoryFile
from search.columns import SEARCH_COLUMNS
from search.row_filter import RowFilter

M = TypeVar("M", bound=Model)


def load_page(rows: RowFilter, ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, Memory]:
    """Load the memories with these ids that still pass the filter.

    The memories have the same fields as with `in_full()`. The SQL is plain, because
    building a queryset with its prefetch took longer than running it.
    """
    condition, params = rows.condition
    sql = f"{PAGE} WHERE {Memory._meta.db_table}.id = ANY(%s) AND {condition}"
    loaded = MEMORIES.read(sql, [list(ids), *params], rows.using)
    return {
        memory.pk: _with_files(memory, links_json) for memory, (links_json,) in loaded
    }


MEMORIES = RowReader(Memory, without=SEARCH_COLUMNS)
PAGE = f"""
SELECT {MEMORIES.columns}, (
    SELECT json_agg(json_build_array(to_json(link), to_json(file)) ORDER BY file.id)
    FROM {MemoryFile._meta.db_table} AS link
    JOIN {File._meta.db_table} AS file ON file.id = link.file_id
    WHERE link.memory_id = {Memory._meta.db_table}.id
)
FROM {Memory._meta.db_table}"""


def _with_files(memory: Any, links_json: Sequence[Any] | None) -> Memory:
    # If a caller filters the links, this deferred filter runs a query. The related manager
    # would build that query for every memory, but hardly any caller filters the links.
    links: Any = QuerySet(MemoryFile)
    links._deferred_filter = (False, (), {"memory": memory})
    links._result_cache = [_link(memory, *columns) for columns in links_json or ()]
    memory._prefetched_objects_cache = {"file_links": links}
    loaded: Memory = memory
    return loaded


def _link(memory: Memory, link: dict[str, Any], file: dict[str, Any]) -> MemoryFile:
    row = _row_of_json(MemoryFile, link)
    row.memory, row.file = memory, _row_of_json(File, file)
    return row


def _row_of_json(model: type[M], columns: dict[str, Any]) -> M:
    """Build a row of a model from its JSON."""
    fields = model._meta.concrete_fields
    values = [field.to_python(columns[str(field.column)]) for field in fields]
    return model.from_db(None, [field.attname for field in fields], values)
