from __future__ import annotations

from django.db import migrations, models

import common.ids
from common import append_only


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="AuditEvent",
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
                ("at", models.DateTimeField(auto_now_add=True)),
                ("verb", models.CharField(max_length=64)),
                ("actor", models.CharField(max_length=200)),
                ("key_id", models.UUIDField(null=True)),
                ("account_id", models.BigIntegerField(null=True)),
                ("agent_id", models.CharField(blank=True, max_length=255)),
                ("project_id", models.UUIDField(null=True)),
                ("object_type", models.CharField(blank=True, max_length=64)),
                ("object_id", models.CharField(blank=True, max_length=255)),
                ("before_hash", models.CharField(blank=True, max_length=64)),
                ("after_hash", models.CharField(blank=True, max_length=64)),
                ("detail", models.JSONField(default=dict)),
                ("request_id", models.CharField(blank=True, max_length=64)),
                ("address", models.CharField(blank=True, max_length=64)),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [
                    models.Index(
                        fields=["project_id", "-id"], name="audit_project_newest"
                    ),
                    models.Index(
                        fields=["object_id", "-id"], name="audit_object_newest"
                    ),
                    models.Index(fields=["key_id", "-id"], name="audit_key_newest"),
                ],
            },
        ),
        append_only.guard("audit_auditevent"),
    ]
