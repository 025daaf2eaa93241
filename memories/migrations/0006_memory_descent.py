from __future__ import annotations

from django.contrib.postgres.indexes import GinIndex
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0005_memory_stored")]

    operations = [
        # The index is not built concurrently, for the reason that 0004 gives.
        migrations.AddIndex(
            "memory",
            models.Index(
                fields=["promoted_from"],
                condition=models.Q(promoted_from__isnull=False),
                name="memory_promoted",
            ),
        ),
        migrations.AddIndex(
            "memory",
            GinIndex(
                fields=["compacted_from"],
                condition=~models.Q(compacted_from=[]),
                name="memory_compacted",
            ),
        ),
    ]
