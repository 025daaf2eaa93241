from __future__ import annotations

from django.db import migrations, models

import common.ids


class Migration(migrations.Migration):
    initial = True
    replaces = [
        ("inference", "0001_model_call"),
        ("inference", "0002_active_model"),
        ("inference", "0003_model_calls_newest_first"),
        ("inference", "0004_scale"),
    ]

    dependencies = []

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
                ("scale", models.JSONField(blank=True, null=True)),
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
        migrations.CreateModel(
            name="ModelCall",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=common.ids.uuid7,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("project_id", models.UUIDField(blank=True, null=True)),
                ("run_id", models.UUIDField(blank=True, null=True)),
                ("purpose", models.CharField(max_length=40)),
                ("prompt_version", models.CharField(blank=True, max_length=40)),
                ("model", models.CharField(max_length=300)),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("answered", "Answered"),
                            ("invalid", "Invalid"),
                            ("failed", "Failed"),
                        ],
                        max_length=16,
                    ),
                ),
                ("error", models.CharField(blank=True, max_length=500)),
                ("attempt", models.PositiveSmallIntegerField(default=1)),
                ("prompt_tokens", models.PositiveIntegerField(default=0)),
                ("answer_tokens", models.PositiveIntegerField(default=0)),
                (
                    "cost",
                    models.DecimalField(decimal_places=6, default=0, max_digits=12),
                ),
                ("took_ms", models.PositiveIntegerField(default=0)),
                ("at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "verbose_name": "model call",
                "ordering": ["-id"],
                "indexes": [
                    models.Index(
                        fields=["project_id", "at"], name="model_call_project_day"
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("outcome__in", ["answered", "invalid", "failed"])
                        ),
                        name="model_call_outcome_known",
                    )
                ],
            },
        ),
    ]
