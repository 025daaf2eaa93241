from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("inference", "0001_model_call")]

    operations = [
        migrations.CreateModel(
            name="ActiveModel",
            fields=[
                (
                    "id",
                    models.PositiveSmallIntegerField(
                        default=1, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(max_length=300)),
                ("choice", models.JSONField()),
                ("since", models.DateTimeField(auto_now=True)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("id", 1)), name="active_model_only_one"
                    )
                ],
            },
        ),
    ]
