from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ace", "0005_model_reflection")]

    operations = [
        migrations.RemoveConstraint("taskcommand", "task_command_once_per_run"),
        migrations.AddConstraint(
            "taskcommand",
            models.UniqueConstraint(
                fields=["run", "text", "outcome"], name="task_command_once_per_run"
            ),
        ),
    ]
