from __future__ import annotations

from django.contrib.postgres.indexes import GinIndex
from django.db import migrations, models


class Migration(migrations.Migration):
    """Five minutes for a million rows, in which nothing is written."""

    dependencies = [
        ("memories", "0007_tiers"),
        ("search", "0003_within_arms"),
    ]

    operations = [
        migrations.RemoveIndex(model_name="memory", name="memory_content_tsv"),
        migrations.AddIndex(
            model_name="memory",
            index=GinIndex(
                models.Func(models.F("content_tsv"), function="within_arms"),
                fastupdate=False,
                name="memory_lexemes",
            ),
        ),
    ]
