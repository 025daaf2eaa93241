"""What an upgrade knows of sources that were retired before the column was there."""

from __future__ import annotations

from importlib import import_module

from django.db import connection

from memories.models import Memory

upgrade = import_module("memories.migrations.0010_retired_into")


def test_an_upgrade_reads_retired_into_from_the_reason(stored):
    rows = stored(*(f"pear number {n} of the orchard" for n in range(5)))
    for memory, reason in zip(
        rows,
        (
            f"promoted to {rows[4].pk}",
            f"compacted into {rows[4].pk}",
            f"somebody wrote {rows[4].pk}",
            "promoted to nobody",
        ),
        strict=False,
    ):
        Memory.objects.filter(pk=memory.pk).update(
            deleted_at=memory.created_at, delete_reason=reason
        )

    with connection.cursor() as cursor:
        cursor.execute(upgrade.NAME_WHAT_CAME_OF_SOURCES)

    told = Memory.objects.order_by("pk").values_list("retired_into", flat=True)
    assert list(told) == [rows[4].pk, rows[4].pk, None, None, None]
