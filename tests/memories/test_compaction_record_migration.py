"""What an upgrade makes of compactions whose record stood in the metadata."""

from __future__ import annotations

from importlib import import_module

import pytest
from django.db import connection

from memories.models import Memory

upgrade = import_module("memories.migrations.0013_compaction_record")
SUMMARY = {"level": "extractive", "model": "", "generation": 2}


@pytest.fixture
def pair(stored):
    """A source and its result, whose metadata are given."""

    def make(**metadata):
        source, result = stored("One of them all.", "All of them in one.")
        rows = Memory.objects.filter(pk=result.pk)
        rows.update(compacted_from=[source.pk], metadata=metadata)
        return source, result

    return make


def migrate(sql, memory):
    with connection.cursor() as cursor:
        cursor.execute(sql)
    memory.refresh_from_db()
    return memory


def test_the_record_gets_a_field_of_its_own(pair):
    provenance = [{"id": "x", "agent_id": "crawler", "compacted_from": []}]
    _, result = pair(compaction=SUMMARY, compacted_provenance=provenance, mine=1)

    migrate(upgrade.TAKE_RECORD_FROM_METADATA, result)

    assert result.compaction == {**SUMMARY, "provenance": provenance}
    assert result.metadata == {"mine": 1}


@pytest.mark.parametrize(
    "metadata",
    [
        {"compaction": "mine"},
        {"compaction": {"level": "mine", "model": "", "generation": 1}},
        {"compaction": SUMMARY | {"mine": 1}},
        {"compacted_provenance": [1]},
        {"compacted_provenance": [{"id": "x", "mine": 1}]},
        {"compacted_provenance": [{"agent_id": "no id"}]},
        {"compacted_provenance": {"id": "x"}, "": "kept"},
    ],
)
def test_what_a_caller_wrote_stays(pair, metadata):
    _, result = pair(**metadata)

    migrate(upgrade.TAKE_RECORD_FROM_METADATA, result)

    assert (result.metadata, result.compaction) == (metadata, {})


def test_metadata_of_a_memory_that_is_not_derived_stay(stored):
    (memory,) = stored("Written by hand.", metadata={"compaction": SUMMARY})

    migrate(upgrade.TAKE_RECORD_FROM_METADATA, memory)

    assert memory.metadata == {"compaction": SUMMARY}


def test_a_promoted_copy_names_the_sources_of_the_compaction(pair, stored):
    source, result = pair()
    copy, second, other = stored(
        "A copy of it.", "The copy of it.", "Another promoted one."
    )
    for memory, origin in ((copy, result), (second, copy), (other, source)):
        Memory.objects.filter(pk=memory.pk).update(promoted_from=origin.pk)

    migrate(upgrade.NAME_SOURCES_OF_PROMOTED, copy)

    second.refresh_from_db()
    other.refresh_from_db()
    assert copy.compacted_from == second.compacted_from == [source.pk]
    assert other.compacted_from == []
