"""What prevents distributing tables by project_id: docs/howto/citus.md."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection

SCRIPT = Path(settings.BASE_DIR) / "docs" / "howto" / "citus.sql"
SPREAD = "^(memories|playbook|context|ace|search)_"

# Unique without project_id, and still correct when projects are distributed: one
# of the columns is the id of a row of one project.
OF_ONE_PROJECT = {
    "vector_once_per_chunk",
    "link_once",
    "doubt_once",
    "finding_once_per_job",
    "purged_text_once_per_purge",
    "support_once",
    "entry_vector_once_per_chunk",
    "anchor_once_per_entry",
    "delta_vector_once_per_model",
    "exposure_once_per_run",
    "lexeme_once_per_corpus",
    "ace_reflection_run_id_key",
    "ace_modelreflection_run_id_key",
    "reflection_once_per_part",
    "task_file_once_per_run",
    "task_command_once_per_run",
    "memory_exposure_once_per_run",
}
# Unique in the installation; when it is distributed, in a project only.
LOOSER = {"playbook_playbookdelta_idempotency_key_key"}
# Tables without the column: they are on every node.
ON_EVERY_NODE = {
    "memories_memoryfile",
    "memories_purgedtext",
    "playbook_support",
    "search_lexemestat",
}

UNIQUE = """
SELECT k.relname, t.relname FROM pg_index i
JOIN pg_class k ON k.oid = indexrelid JOIN pg_class t ON t.oid = indrelid
WHERE indisunique AND t.relname ~ %s AND NOT EXISTS (
  SELECT FROM pg_attribute a
  WHERE a.attrelid = indrelid AND a.attnum = ANY (indkey) AND attname = 'project_id')
"""
WITHOUT_PROJECT = """
SELECT relname FROM pg_class c WHERE relkind = 'r' AND relname ~ %s AND NOT EXISTS (
  SELECT FROM pg_attribute a
  WHERE a.attrelid = c.oid AND attname = 'project_id' AND attnotnull)
"""
FOREIGN = """
SELECT conname FROM pg_constraint WHERE contype = 'f'
AND (conrelid::regclass::text ~ %s OR confrelid::regclass::text ~ %s)
"""


@pytest.fixture
def ask(db):
    def rows(query, *arguments):
        with connection.cursor() as cursor:
            cursor.execute(query, arguments)
            return cursor.fetchall()

    return rows


def test_every_unique_constraint_without_the_project_is_known(ask):
    found = {name for name, _ in ask(UNIQUE, SPREAD) if not name.endswith("_pkey")}

    assert found == OF_ONE_PROJECT | LOOSER


def test_every_table_without_the_project_is_known(ask):
    assert {name for (name,) in ask(WITHOUT_PROJECT, SPREAD)} == ON_EVERY_NODE


class TestTheScript:
    @pytest.fixture
    def _prepare(self, db):
        with connection.cursor() as cursor:
            cursor.execute(SCRIPT.read_text())

    @pytest.mark.usefixtures("_prepare")
    def test_it_puts_the_project_into_every_key(self, ask):
        assert {table for _, table in ask(UNIQUE, SPREAD)} == ON_EVERY_NODE

    @pytest.mark.usefixtures("_prepare")
    def test_it_leaves_no_foreign_key(self, ask):
        assert ask(FOREIGN, SPREAD, SPREAD) == []

    @pytest.mark.usefixtures("_prepare")
    def test_keys_keep_their_names_and_conditions(self, ask):
        found = ask(
            "SELECT indexdef FROM pg_indexes WHERE indexname = 'vector_once_per_chunk'"
        )

        assert "(project_id, memory_id, model, chunk)" in found[0][0]

    @pytest.mark.usefixtures("_prepare")
    def test_it_can_run_again(self, db):
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE spread")
            cursor.execute(SCRIPT.read_text())
