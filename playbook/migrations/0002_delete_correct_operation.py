from __future__ import annotations

from typing import Any

from django.db import migrations, models

OPERATIONS = ["add", "update", "delete", "merge", "deprecate", "restore", "tag", "vote", "forget"]  # fmt: skip


def delete_corrections(apps: Any, schema_editor: Any) -> None:
    apps.get_model("playbook", "PlaybookDelta").objects.filter(
        operation="correct"
    ).delete()


class Migration(migrations.Migration):
    dependencies = [("playbook", "0001_initial")]

    operations = [
        migrations.RunPython(delete_corrections, migrations.RunPython.noop),
        # A table with checks of foreign keys still to come cannot be altered.
        migrations.RunSQL("SET CONSTRAINTS ALL IMMEDIATE", migrations.RunSQL.noop),
        migrations.RemoveConstraint(
            model_name="playbookdelta", name="delta_operation_known"
        ),
        migrations.AlterField(
            model_name="playbookdelta",
            name="operation",
            field=models.CharField(
                choices=[(name, name.capitalize()) for name in OPERATIONS],
                max_length=16,
            ),
        ),
        migrations.AddConstraint(
            model_name="playbookdelta",
            constraint=models.CheckConstraint(
                condition=models.Q(operation__in=OPERATIONS),
                name="delta_operation_known",
            ),
        ),
    ]
