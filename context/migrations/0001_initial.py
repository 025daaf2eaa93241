from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models

import common.ids


class Migration(migrations.Migration):
    initial = True
    replaces = [
        ("context", "0001_digest_config"),
        ("context", "0002_one_index_less"),
    ]

    dependencies = [
        ("projects", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="DigestConfig",
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
                ("agent_id", models.CharField(blank=True, max_length=255)),
                ("config", models.JSONField(blank=True, default=dict)),
                ("version", models.PositiveIntegerField(default=1)),
                ("updated_by", models.CharField(blank=True, max_length=200)),
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
                "verbose_name": "digest configuration",
                "ordering": ["project_id", "agent_id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("project", "agent_id"),
                        name="digest_config_once_per_agent",
                    )
                ],
            },
        ),
    ]
