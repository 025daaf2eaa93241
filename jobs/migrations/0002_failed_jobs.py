from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0001_initial")]

    operations = [
        # Not concurrently, for the reason that memories 0004 gives.
        migrations.AddIndex(
            "job",
            models.Index(
                fields=["id"],
                condition=models.Q(state="failed"),
                name="job_failed",
            ),
        )
    ]
