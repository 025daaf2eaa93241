from __future__ import annotations

import django.contrib.postgres.indexes
from django.db import migrations


class Migration(migrations.Migration):
    """Index the metadata, so that a search by one of its values reads no other rows."""

    dependencies = [("memories", "0016_upgrade_texts")]

    operations = [
        migrations.AddIndex(
            "memory",
            # The index is not built concurrently, for the reason that 0004 gives.
            django.contrib.postgres.indexes.GinIndex(
                fields=["metadata"],
                opclasses=["jsonb_path_ops"],
                name="memory_metadata",
            ),
        ),
    ]
