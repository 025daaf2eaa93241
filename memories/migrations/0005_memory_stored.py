from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0004_memory_live")]

    operations = [
        # The index is not built concurrently, for the reason that 0004 gives.
        migrations.AddIndex(
            "memory",
            models.Index(
                fields=["project", "created_at"],
                include=["memory_type", "is_duplicate"],
                name="memory_stored",
            ),
        )
    ]
