from __future__ import annotations

import django.utils.timezone
from django.db import migrations, models

import common.ids


class Migration(migrations.Migration):
    initial = True
    replaces = [
        ("jobs", "0002_failed_jobs"),
    ]

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Heartbeat",
            fields=[
                (
                    "name",
                    models.CharField(max_length=64, primary_key=True, serialize=False),
                ),
                ("at", models.DateTimeField()),
                ("detail", models.JSONField(default=dict)),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="Job",
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
                ("kind", models.CharField(max_length=64)),
                ("project_id", models.UUIDField(null=True)),
                ("args", models.JSONField(default=dict)),
                ("key", models.CharField(blank=True, max_length=200)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                            ("discarded", "Discarded"),
                        ],
                        default="waiting",
                        max_length=16,
                    ),
                ),
                ("run_after", models.DateTimeField(default=django.utils.timezone.now)),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("lease_until", models.DateTimeField(null=True)),
                ("done", models.PositiveIntegerField(default=0)),
                ("total", models.PositiveIntegerField(null=True)),
                ("cursor", models.JSONField(default=dict)),
                ("result", models.JSONField(default=dict)),
                ("error", models.TextField(blank=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("state__in", ["waiting", "running"])),
                        fields=["run_after"],
                        name="job_unfinished",
                    ),
                    models.Index(
                        condition=models.Q(("state", "failed")),
                        fields=["id"],
                        name="job_failed",
                    ),
                    models.Index(
                        fields=["project_id", "-id"], name="job_project_newest"
                    ),
                    models.Index(
                        fields=["kind", "-finished_at"], name="job_kind_finished"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(
                            ("state", "waiting"), models.Q(("key", ""), _negated=True)
                        ),
                        fields=("kind", "key"),
                        name="job_one_waiting_per_key",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "state__in",
                                [
                                    "waiting",
                                    "running",
                                    "done",
                                    "failed",
                                    "cancelled",
                                    "discarded",
                                ],
                            )
                        ),
                        name="job_state_known",
                    ),
                ],
            },
        ),
    ]
