from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    """Every row anew: ten minutes for a million."""

    dependencies = [
        ("memories", "0006_memory_descent"),
        ("search", "0002_tiers"),
    ]

    operations = [
        migrations.RunSQL(
            "UPDATE memories_memory SET content_tsv = with_tiers(content_tsv);",
            migrations.RunSQL.noop,
        )
    ]
