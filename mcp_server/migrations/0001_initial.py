from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models

import common.ids


class Migration(migrations.Migration):
    initial = True
    replaces = [
        ("mcp_server", "0001_hooks"),
    ]

    dependencies = [
        ("projects", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="HookCount",
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
                ("key_id", models.UUIDField()),
                ("agent_id", models.CharField(blank=True, max_length=255)),
                ("harness", models.CharField(max_length=16)),
                ("event", models.CharField(max_length=16)),
                ("events", models.PositiveBigIntegerField(default=1)),
                ("last_at", models.DateTimeField()),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="projects.project",
                    ),
                ),
            ],
            options={
                "ordering": ["-last_at"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("project", "key_id", "harness", "event"),
                        name="hook_count_once_per_event",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Push",
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
                ("key_id", models.UUIDField()),
                ("session", models.CharField(max_length=32)),
                ("subagent", models.CharField(blank=True, max_length=32)),
                ("event", models.CharField(max_length=16)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("card", "Card"),
                            ("rule", "Rule"),
                            ("memory", "Memory"),
                            ("fix", "Fix"),
                            ("wish", "Wish"),
                            ("notice", "Notice"),
                        ],
                        max_length=8,
                    ),
                ),
                ("subject", models.CharField(max_length=64)),
                ("repair_id", models.UUIDField(blank=True, null=True)),
                ("tokens", models.PositiveIntegerField()),
                ("is_in_context", models.BooleanField(default=True)),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="projects.project",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "pushes",
                "ordering": ["-id"],
                "indexes": [
                    models.Index(fields=["project", "at"], name="push_project_at")
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("is_in_context", True)),
                        fields=(
                            "project",
                            "key_id",
                            "session",
                            "subagent",
                            "kind",
                            "subject",
                        ),
                        name="push_once_per_session",
                    )
                ],
            },
        ),
    ]
