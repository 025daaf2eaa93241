from __future__ import annotations

from django.db import migrations

from search.migrations._tiers import WITH, WITHOUT, written

TABLE = "memories_memory"


class Migration(migrations.Migration):
    """Every row anew: half an hour for a million."""

    atomic = False  # each batch of rows is a transaction

    dependencies = [
        ("memories", "0006_memory_descent"),
        ("search", "0002_tiers"),
    ]

    operations = [
        migrations.RunPython(written(TABLE, WITH), written(TABLE, WITHOUT)),
    ]
