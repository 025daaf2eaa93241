from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ace", "0009_task_traces")]

    operations = [
        # The index is not built concurrently; memories 0004 gives the reason.
        migrations.AddIndex(
            "observation",
            models.Index(
                fields=["project", "signature", "-id"], name="observation_newest"
            ),
        )
    ]
