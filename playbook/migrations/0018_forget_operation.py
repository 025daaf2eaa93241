from __future__ import annotations

from django.db import migrations, models

OPERATIONS = ["add", "update", "delete", "merge", "deprecate", "restore", "tag", "vote", "correct", "forget"]  # fmt: skip


class Migration(migrations.Migration):
    dependencies = [("playbook", "0017_correct_operation")]

    operations = [
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
