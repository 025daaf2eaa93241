from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("playbook", "0009_one_index_less")]

    operations = [
        # Those of a run are asked for at each finished task; those of an entry have
        # an index of their own.
        migrations.RemoveConstraint("exposure", "exposure_once_per_run"),
        migrations.AddConstraint(
            "exposure",
            models.UniqueConstraint(
                fields=["run_id", "entry"], name="exposure_once_per_run"
            ),
        ),
    ]
