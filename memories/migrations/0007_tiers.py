from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    """Every row anew: a quarter of an hour for a million."""

    dependencies = [
        ("memories", "0006_memory_descent"),
        ("search", "0002_tiers"),
    ]

    operations = [
        migrations.RunSQL(
            "UPDATE memories_memory SET content_tsv = with_tiers(content_tsv);",
            """
            UPDATE memories_memory SET content_tsv = ts_delete(content_tsv, ARRAY(
                SELECT lexeme FROM unnest(content_tsv) WHERE lexeme ~ '^[↑⇈]'));
            """,
        )
    ]
