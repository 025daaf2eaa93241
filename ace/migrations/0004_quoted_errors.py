from __future__ import annotations

from typing import Any

from django.db import migrations, models


def restart_unfinished_runs(apps: Any, schema_editor: Any) -> None:
    """Reflect again on the runs whose lessons are stored in the old shape."""
    runs = apps.get_model("ace", "AceRun").objects.exclude(state="done")
    for run in runs.filter(reflection__isnull=False).iterator():
        run.reflection.delete()
        run.phases = {k: v for k, v in run.phases.items() if k == "executor"}
        run.save(update_fields=["phases"])


class Migration(migrations.Migration):
    dependencies = [("ace", "0003_task_command_person")]

    operations = [
        migrations.DeleteModel(name="Observation"),
        migrations.RunPython(restart_unfinished_runs, migrations.RunPython.noop),
        *(
            migrations.RemoveField(model_name="reflection", name=name)
            for name in (
                "error_identification",
                "root_cause",
                "correct_approach",
                "key_insight",
                "evidence",
                "producer",
                "producer_name",
                "producer_version",
                "notes",
            )
        ),
        migrations.AddField(
            model_name="reflection",
            name="errors",
            field=models.JSONField(default=list),
        ),
        migrations.AddField(
            model_name="reflection",
            name="supported",
            field=models.JSONField(default=list),
        ),
    ]
