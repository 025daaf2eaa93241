from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("playbook", "0009_one_index_less")]

    operations = [
        # Each finished task asks for the exposures of its run. The exposures of an
        # entry have their own index.
        migrations.RemoveConstraint("exposure", "exposure_once_per_run"),
        migrations.AddConstraint(
            "exposure",
            models.UniqueConstraint(
                fields=["run_id", "entry"], name="exposure_once_per_run"
            ),
        ),
    ]
