"""Append-only tables: a row trigger refuses UPDATE and DELETE.

There is no trigger for TRUNCATE, because tests flush tables with TRUNCATE. In production,
the right to TRUNCATE is revoked.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, migrations

FUNCTION = """
CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('memory.purge', true) = 'on' THEN
        RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
    END IF;
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'restrict_violation';
END $$;
"""


def guard(table: str) -> migrations.RunSQL:
    """Return the migration operation that makes a table append-only."""
    return migrations.RunSQL(
        FUNCTION
        + f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE ON {table}"
        " FOR EACH ROW EXECUTE FUNCTION refuse_change();",
        f"DROP TRIGGER {table}_append_only ON {table};",
    )


@contextmanager
def allow_changes() -> Iterator[None]:
    """Let this transaction change append-only tables while the block runs.

    Use this function inside `atomic()`, and only to remove data for good. Examples are a
    purge, the end of a deleted project, and the audited pruning command.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('memory.purge', 'on', true)")
        yield
        cursor.execute("SELECT set_config('memory.purge', 'off', true)")
