from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("playbook", "0010_exposures_by_run")]

    operations = [
        # The index is not built concurrently; memories 0004 gives the reason.
        migrations.AddIndex(
            "playbookchange",
            models.Index(
                fields=["delta_id"],
                condition=models.Q(delta_id__isnull=False),
                name="change_delta",
            ),
        )
    ]
