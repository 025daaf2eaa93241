from __future__ import annotations

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import common.ids


class Migration(migrations.Migration):
    initial = True
    replaces = [
        ("agents", "0002_listing_of_a_server"),
    ]

    dependencies = [
        ("projects", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="AgentRun",
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
                ("session_id", models.UUIDField(blank=True, null=True)),
                ("conversation_id", models.CharField(blank=True, max_length=200)),
                ("user_id", models.CharField(blank=True, max_length=255)),
                ("agent_id", models.CharField(max_length=255)),
                ("actor", models.CharField(blank=True, max_length=200)),
                ("key_id", models.UUIDField(blank=True, null=True)),
                ("account_id", models.BigIntegerField(blank=True, null=True)),
                ("is_attested", models.BooleanField(default=False)),
                ("request", models.JSONField(default=dict)),
                ("has_memory", models.BooleanField(default=False)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("confirming", "Confirming"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                            ("interrupted", "Interrupted"),
                        ],
                        default="running",
                        max_length=16,
                    ),
                ),
                ("steps", models.JSONField(default=list)),
                ("pending_call", models.JSONField(blank=True, null=True)),
                ("answer", models.TextField(blank=True)),
                ("error", models.JSONField(blank=True, null=True)),
                ("iterations", models.PositiveIntegerField(default=0)),
                ("prompt_tokens", models.PositiveBigIntegerField(default=0)),
                ("answer_tokens", models.PositiveBigIntegerField(default=0)),
                ("memory", models.JSONField(blank=True, default=dict)),
                ("learned", models.JSONField(blank=True, default=dict)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("alive_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
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
                "ordering": ["-id"],
                "indexes": [
                    models.Index(fields=["project", "-id"], name="agent_run_newest"),
                    models.Index(
                        fields=["project", "user_id", "-id"], name="agent_run_of_user"
                    ),
                    models.Index(
                        condition=models.Q(("status__in", ["queued", "running"])),
                        fields=["alive_at"],
                        name="agent_run_alive",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="AgentTool",
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
                    "kind",
                    models.CharField(
                        choices=[("http", "Http"), ("mcp", "Mcp")], max_length=16
                    ),
                ),
                ("name", models.CharField(max_length=64)),
                ("description", models.TextField(blank=True)),
                ("arguments", models.JSONField(blank=True, default=list)),
                ("definition", models.JSONField(default=dict)),
                ("timeout", models.FloatField(default=30.0)),
                ("groups", models.JSONField(default=list)),
                ("states", models.JSONField(default=list)),
                (
                    "confirm",
                    models.CharField(
                        choices=[("ask", "Ask"), ("auto", "Auto")],
                        default="ask",
                        max_length=16,
                    ),
                ),
                ("is_enabled", models.BooleanField(default=True)),
                ("listing", models.JSONField(blank=True, null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("updated_at", models.DateTimeField(auto_now=True)),
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
                "ordering": ["name"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("project", "name"), name="agent_tool_one_per_name"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ToolSecret",
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
                ("name", models.CharField(max_length=64)),
                ("encrypted_value", models.TextField()),
                ("updated_at", models.DateTimeField(auto_now=True)),
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
                "ordering": ["name"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("project", "name"), name="tool_secret_one_per_name"
                    )
                ],
            },
        ),
    ]
