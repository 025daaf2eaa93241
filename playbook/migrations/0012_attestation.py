from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models

import common.ids


class Migration(migrations.Migration):
    dependencies = [("playbook", "0011_changes_by_delta")]

    operations = [
        migrations.AddField(
            "playbookdelta",
            "person",
            models.CharField(
                blank=True, db_default="", default="", editable=False, max_length=32
            ),
        ),
        migrations.CreateModel(
            name="UnattestedVote",
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
                ("person", models.CharField(max_length=32)),
                ("kind", models.CharField(max_length=8)),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "entry",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="unattested_votes",
                        to="playbook.playbookentry",
                    ),
                ),
            ],
            options={
                "ordering": ["entry_id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("entry", "kind", "person"),
                        name="unattested_vote_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["helpful", "harmful"])),
                        name="unattested_vote_kind_known",
                    ),
                ],
            },
        ),
    ]
