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
        migrations.AddIndex(
            model_name="memory",
            index=GinIndex(
                models.Func(models.F("content_tsv"), function="within_arms"),
                fastupdate=False,
                name="memory_lexemes",
            ),
        ),
        # Afterwards, as rows can't be read from then until the end of the transaction.
        migrations.RemoveIndex(model_name="memory", name="memory_content_tsv"),
        # ANALYZE would compute the expression of 30,000 rows, for half a minute.
        migrations.RunSQL(
            "ALTER INDEX memory_lexemes ALTER COLUMN 1 SET STATISTICS 0",
            migrations.RunSQL.noop,
        ),
    ]
