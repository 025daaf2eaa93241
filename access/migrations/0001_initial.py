from __future__ import annotations

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import access.models
import common.ids


class Migration(migrations.Migration):
    initial = True
    replaces = [
        ("access", "0002_attestation"),
        ("access", "0003_lines_of_keys"),
        ("access", "0004_each_key_has_a_line"),
        ("access", "0005_root_lines_of_keys"),
        ("access", "0006_each_key_has_a_root_line"),
    ]

    dependencies = [
        ("projects", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="IdempotencyKey",
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
                ("actor", models.CharField(max_length=200)),
                ("route", models.CharField(max_length=200)),
                ("project_id", models.UUIDField(null=True)),
                ("key", models.CharField(max_length=255)),
                ("body_hash", models.CharField(max_length=64)),
                ("status", models.PositiveSmallIntegerField(null=True)),
                ("answer", models.JSONField(null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True, db_index=True)),
            ],
            options={
                "ordering": ["-id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("actor", "route", "project_id", "key"),
                        name="idempotency_once",
                        nulls_distinct=False,
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ApiKey",
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
                ("name", models.CharField(max_length=200)),
                ("prefix", models.CharField(max_length=16)),
                ("hash", models.CharField(editable=False, max_length=64, unique=True)),
                (
                    "role",
                    models.PositiveSmallIntegerField(
                        choices=[
                            (1, "viewer"),
                            (2, "writer"),
                            (3, "curator"),
                            (4, "owner"),
                        ],
                        default=2,
                    ),
                ),
                ("everywhere", models.BooleanField(default=False)),
                ("agent_id", models.CharField(blank=True, max_length=255)),
                ("user_id", models.CharField(blank=True, max_length=255)),
                ("may_attest", models.BooleanField(db_default=False, default=False)),
                ("created_by", models.CharField(blank=True, max_length=200)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                ("last_used_at", models.DateTimeField(blank=True, null=True)),
                ("line_id", models.UUIDField(editable=False)),
                ("root_line_id", models.UUIDField(editable=False)),
                (
                    "account",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=access.models.end_keys,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "projects",
                    models.ManyToManyField(
                        blank=True, related_name="api_keys", to="projects.project"
                    ),
                ),
                (
                    "replaced_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        to="access.apikey",
                    ),
                ),
            ],
            options={
                "verbose_name": "API key",
                "ordering": ["-id"],
                "indexes": [models.Index(fields=["line_id"], name="key_line")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("role__gte", 1), ("role__lte", 4)),
                        name="key_role_known",
                    )
                ],
            },
        ),
    ]
