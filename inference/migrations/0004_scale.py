from __future__ import annotations

from typing import Any

from django.db import migrations, models


def measure(apps: Any, schema_editor: Any) -> None:
    """Let a job measure the scale of a model that is not the bundled one."""
    record = apps.get_model("inference", "ActiveModel").objects.first()
    if record and record.choice.get("provider") != "minilm":
        jobs = apps.get_model("jobs", "Job").objects
        jobs.bulk_create([jobs.model(kind="calibrate", key=record.name)])


class Migration(migrations.Migration):
    dependencies = [
        ("inference", "0003_model_calls_newest_first"),
        ("jobs", "0002_failed_jobs"),
    ]

    operations = [
        migrations.AddField(
            model_name="activemodel",
            name="scale",
            field=models.JSONField(blank=True, null=True),
        ),
        migrations.RunPython(measure, migrations.RunPython.noop),
    ]
