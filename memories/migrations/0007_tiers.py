from __future__ import annotations

from django.db import migrations

from search.migrations._tiers import WITH, WITHOUT, written

TABLE = "memories_memory"


class Migration(migrations.Migration):
    """Write every row anew. A million rows take half an hour."""

    atomic = False  # each batch of rows has its own transaction

    dependencies = [
        ("memories", "0006_memory_descent"),
        ("search", "0002_tiers"),
    ]

    operations = [
        migrations.RunPython(written(TABLE, WITH), written(TABLE, WITHOUT)),
    ]
