from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0019_recalled_at")]

    operations = [
        # The index is not built concurrently, for the reason that 0004 gives.
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                fields=["project", "kind"],
                condition=models.Q(
                    archived_at__isnull=True,
                    deleted_at__isnull=True,
                    is_duplicate=False,
                    kind__in=("fact", "episode"),
                    superseded_by__isnull=True,
                ),
                name="memory_of_tier",
            ),
        ),
    ]
