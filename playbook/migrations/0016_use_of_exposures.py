from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("playbook", "0015_applies_to")]

    operations = [
        migrations.AddField(
            model_name="exposure",
            name="used_as",
            field=models.CharField(
                blank=True,
                choices=[
                    ("cited", "the agent cited it"),
                    ("command", "the task ran a command or tool that it names"),
                    ("file", "the task touched a file that it names"),
                ],
                db_default="",
                default="",
                max_length=8,
            ),
        ),
        migrations.AddField(
            model_name="exposure",
            name="request_id",
            field=models.CharField(
                blank=True, db_default="", default="", max_length=64
            ),
        ),
    ]
