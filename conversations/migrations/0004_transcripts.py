from __future__ import annotations

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import common.ids


class Migration(migrations.Migration):
    dependencies = [
        ("conversations", "0003_when_invocations_were_hidden"),
    ]

    operations = [
        migrations.CreateModel(
            name="Transcript",
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
                ("project_id", models.UUIDField()),
                ("format", models.CharField(max_length=32)),
                ("cursor", models.PositiveBigIntegerField(default=0)),
                ("prefix", models.CharField(blank=True, max_length=64)),
                ("last_seq", models.PositiveIntegerField(default=0)),
                ("learned_seq", models.PositiveIntegerField(default=0)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("actor", models.CharField(max_length=200)),
                ("key_id", models.UUIDField(blank=True, null=True)),
                ("account_id", models.BigIntegerField(blank=True, null=True)),
                ("agent_id", models.CharField(max_length=255)),
                ("is_attested", models.BooleanField(default=False)),
                (
                    "session",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="transcripts",
                        to="conversations.session",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("ended_at", None)),
                        fields=["project_id", "updated_at"],
                        name="transcript_open",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("session", "format"), name="transcript_one_per_format"
                    )
                ],
            },
        ),
    ]
