"""The other projects of a large installation: copies of one project's rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import connection, transaction

from memories.models import Memory, MemoryVector
from memories.scopes import Scope
from projects.models import Project
from search.fields import arm_lexeme

# Of a copied row: what tells it from the one that it is made of.
OF_MEMORY = {
    "id": "made",
    "project_id": "%(target)s",
    "organization_id": "%(organization)s",
    "scope_key": "%(key)s",
    "scope_hash": "%(scope)s",
    "content_tsv": "ts_delete(content_tsv, %(from)s) || array_to_tsvector(ARRAY[%(to)s])",
}
OF_VECTOR = {"id": "uuidv7()", "memory_id": "made", "project_id": "%(target)s"}

COPY = """
WITH chosen AS MATERIALIZED (
    SELECT id AS copied, uuidv7() AS made FROM memories_memory
    WHERE project_id = %(source)s ORDER BY id LIMIT %(count)s
), memories AS (
    INSERT INTO memories_memory ({memory_names})
    SELECT {memory_values} FROM memories_memory JOIN chosen ON id = copied
)
INSERT INTO memories_memoryvector ({vector_names})
SELECT {vector_values} FROM memories_memoryvector JOIN chosen ON memory_id = copied
"""


def copy(source: Project, target: Project, count: int) -> None:
    """Copy a project's first rows with their vectors: faster than writing others."""
    memory_names, memory_values = _columns(Memory, OF_MEMORY)
    vector_names, vector_values = _columns(MemoryVector, OF_VECTOR)
    scope = Scope("workspace", str(target.pk))
    statement = COPY.format(
        memory_names=memory_names,
        memory_values=memory_values,
        vector_names=vector_names,
        vector_values=vector_values,
    )
    given: dict[str, Any] = {
        "source": source.pk,
        "target": target.pk,
        "organization": target.organization_id,
        "key": scope.key,
        "scope": scope.hash,
        "from": arm_lexeme("p", source.pk),
        "to": arm_lexeme("p", target.pk),
        "count": count,
    }
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute(statement, given)


def _columns(
    model: type[Memory] | type[MemoryVector], changed: Mapping[str, str]
) -> tuple[str, str]:
    fields = [field for field in model._meta.concrete_fields if not field.generated]
    names = [str(field.column) for field in fields]
    return ", ".join(names), ", ".join(changed.get(name, name) for name in names)
