from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models

import common.ids


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0002_file_changed_at"),
        ("projects", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Purge",
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
                (
                    "state",
                    models.CharField(
                        choices=[("waiting", "Waiting"), ("done", "Done")],
                        default="waiting",
                        max_length=16,
                    ),
                ),
                ("selection", models.JSONField()),
                ("cascade", models.BooleanField(default=False)),
                ("reason", models.CharField(max_length=500)),
                ("counts", models.JSONField(default=dict)),
                ("descendants", models.JSONField(default=list)),
                ("actor", models.CharField(max_length=200)),
                ("key_id", models.UUIDField(blank=True, null=True)),
                ("job_id", models.UUIDField(blank=True, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("done_at", models.DateTimeField(blank=True, null=True)),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        to="projects.project",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [
                    models.Index(fields=["project", "-id"], name="purge_newest")
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["waiting", "done"])),
                        name="purge_state_known",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="PurgedText",
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
                ("hmac", models.CharField(max_length=32)),
                ("table", models.CharField(max_length=63)),
                ("column", models.CharField(max_length=63)),
                ("row_id", models.CharField(max_length=64)),
                (
                    "purge",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="texts",
                        to="memories.purge",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("purge", "hmac"), name="purged_text_once_per_purge"
                    )
                ],
            },
        ),
    ]
