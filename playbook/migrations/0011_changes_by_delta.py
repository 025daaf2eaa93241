from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("playbook", "0010_exposures_by_run")]

    operations = [
        # Not concurrently, for the reason that memories 0004 gives.
        migrations.AddIndex(
            "playbookchange",
            models.Index(
                fields=["delta_id"],
                condition=models.Q(delta_id__isnull=False),
                name="change_delta",
            ),
        )
    ]
