from __future__ import annotations

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

import common.ids


class Migration(migrations.Migration):
    initial = True
    replaces = [
        ("ace", "0002_observation"),
        ("ace", "0003_run_without_attempts"),
        ("ace", "0004_one_index_less"),
        ("ace", "0005_attested_runs"),
        ("ace", "0006_known_fixes"),
        ("ace", "0007_banner_person"),
        ("ace", "0008_task_files"),
        ("ace", "0009_task_traces"),
        ("ace", "0010_newest_observations"),
    ]

    dependencies = [
        ("memories", "0001_initial"),
        ("projects", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="AceRun",
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
                ("agent_id", models.CharField(max_length=255)),
                ("actor", models.CharField(max_length=200)),
                ("key_id", models.UUIDField(blank=True, null=True)),
                ("account_id", models.BigIntegerField(blank=True, null=True)),
                ("is_attested", models.BooleanField(db_default=False, default=False)),
                ("request", models.JSONField()),
                ("phases", models.JSONField(default=dict)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("running", "Running"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                        ],
                        default="running",
                        max_length=16,
                    ),
                ),
                ("result", models.JSONField(blank=True, default=dict)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                (
                    "memory",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="runs",
                        to="memories.memory",
                    ),
                ),
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
                "verbose_name": "ACE run",
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="BannerLine",
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
                ("digest", models.CharField(max_length=32)),
                ("session", models.CharField(max_length=32)),
                (
                    "person",
                    models.CharField(
                        blank=True, db_default="", default="", max_length=32
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="projects.project",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="ace.acerun",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Observation",
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
                ("signature", models.CharField(max_length=64)),
                ("root_cause", models.CharField(blank=True, max_length=40)),
                ("seen", models.JSONField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="projects.project",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="observations",
                        to="ace.acerun",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="ObservedRepair",
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
                ("signature", models.CharField(max_length=64)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("lint", "Lint"),
                            ("shell", "Shell"),
                            ("path", "Path"),
                            ("tool", "Tool"),
                        ],
                        max_length=8,
                    ),
                ),
                ("cure", models.CharField(blank=True, max_length=300)),
                ("has_worked", models.BooleanField()),
                ("person", models.CharField(max_length=32)),
                ("session", models.CharField(max_length=255)),
                ("machine", models.CharField(blank=True, max_length=32)),
                ("times", models.PositiveSmallIntegerField(default=1)),
                ("seen", models.JSONField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="projects.project",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="repairs",
                        to="ace.acerun",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="Reflection",
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
                ("outcome", models.CharField(max_length=16)),
                ("outcome_source", models.CharField(max_length=16)),
                ("outcome_confidence", models.FloatField()),
                ("outcome_reason", models.CharField(blank=True, max_length=500)),
                ("error_identification", models.TextField(blank=True)),
                ("root_cause", models.CharField(blank=True, max_length=40)),
                ("correct_approach", models.TextField(blank=True)),
                ("key_insight", models.TextField(blank=True)),
                ("evidence", models.JSONField(default=list)),
                ("insights", models.JSONField(default=list)),
                ("lessons", models.JSONField(default=list)),
                ("votes", models.JSONField(default=list)),
                ("related", models.JSONField(default=list)),
                ("abstained", models.CharField(blank=True, max_length=500)),
                ("producer", models.CharField(default="rule", max_length=8)),
                (
                    "producer_name",
                    models.CharField(default="reflector", max_length=100),
                ),
                ("producer_version", models.CharField(default="1", max_length=40)),
                ("notes", models.JSONField(blank=True, default=list)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        to="projects.project",
                    ),
                ),
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="reflection",
                        to="ace.acerun",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="TaskCommand",
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
                ("kind", models.CharField(max_length=8)),
                ("pattern", models.CharField(max_length=250)),
                ("text", models.CharField(max_length=250)),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("worked", "Worked"),
                            ("faults", "Faults"),
                            ("failed", "Failed"),
                        ],
                        max_length=8,
                    ),
                ),
                ("times", models.PositiveSmallIntegerField(default=1)),
                ("session", models.CharField(max_length=255)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="projects.project",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="commands",
                        to="ace.acerun",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="TaskFile",
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
                ("path", models.CharField(max_length=1000)),
                (
                    "use",
                    models.CharField(
                        choices=[
                            ("read", "Read"),
                            ("changed", "Changed"),
                            ("deleted", "Deleted"),
                        ],
                        max_length=8,
                    ),
                ),
                (
                    "words",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(), default=list, size=None
                    ),
                ),
                ("purpose", models.CharField(blank=True, max_length=200)),
                ("session", models.CharField(max_length=255)),
                ("branch", models.CharField(blank=True, max_length=255)),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="projects.project",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="files",
                        to="ace.acerun",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="TaskInstructions",
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
                ("path", models.CharField(max_length=1000)),
                ("seen", models.JSONField()),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="projects.project",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="ace.acerun",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "task instructions",
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="TaskLookup",
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
                ("path", models.CharField(max_length=1000)),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("found", "Found"),
                            ("empty", "Empty"),
                            ("missing", "Missing"),
                        ],
                        max_length=8,
                    ),
                ),
                ("session", models.CharField(max_length=255)),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="projects.project",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="ace.acerun",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.AddIndex(
            model_name="acerun",
            index=models.Index(fields=["project", "-id"], name="run_project_newest"),
        ),
        migrations.AddIndex(
            model_name="acerun",
            index=models.Index(
                condition=models.Q(("state", "running")),
                fields=["created_at"],
                name="run_unfinished",
            ),
        ),
        migrations.AddConstraint(
            model_name="acerun",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["running", "done", "failed"])),
                name="run_state_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="bannerline",
            constraint=models.UniqueConstraint(
                fields=("project", "digest", "session"), name="banner_once_per_session"
            ),
        ),
        migrations.AddIndex(
            model_name="observation",
            index=models.Index(
                fields=["project", "signature", "-id"], name="observation_newest"
            ),
        ),
        migrations.AddConstraint(
            model_name="observation",
            constraint=models.UniqueConstraint(
                fields=("project", "signature", "run"), name="observation_once_per_run"
            ),
        ),
        migrations.AddConstraint(
            model_name="observedrepair",
            constraint=models.UniqueConstraint(
                fields=("project", "signature", "run", "cure", "has_worked"),
                name="repair_once_per_run",
            ),
        ),
        migrations.AddConstraint(
            model_name="observedrepair",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["lint", "shell", "path", "tool"])),
                name="repair_kind_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="reflection",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("outcome__in", ["success", "partial", "failure", "unknown"])
                ),
                name="reflection_outcome_known",
            ),
        ),
        migrations.AddIndex(
            model_name="taskcommand",
            index=models.Index(fields=["project", "-id"], name="task_command_newest"),
        ),
        migrations.AddConstraint(
            model_name="taskcommand",
            constraint=models.UniqueConstraint(
                fields=("run", "pattern", "outcome"), name="task_command_once_per_run"
            ),
        ),
        migrations.AddConstraint(
            model_name="taskcommand",
            constraint=models.CheckConstraint(
                condition=models.Q(("outcome__in", ["worked", "faults", "failed"])),
                name="task_command_outcome_known",
            ),
        ),
        migrations.AddIndex(
            model_name="taskfile",
            index=models.Index(
                fields=["project", "session"], name="task_file_of_session"
            ),
        ),
        migrations.AddIndex(
            model_name="taskfile",
            index=models.Index(fields=["project", "path"], name="task_file_path"),
        ),
        migrations.AddConstraint(
            model_name="taskfile",
            constraint=models.UniqueConstraint(
                fields=("run", "path"), name="task_file_once_per_run"
            ),
        ),
        migrations.AddConstraint(
            model_name="taskfile",
            constraint=models.CheckConstraint(
                condition=models.Q(("use__in", ["read", "changed", "deleted"])),
                name="task_file_use_known",
            ),
        ),
        migrations.AddIndex(
            model_name="taskinstructions",
            index=models.Index(fields=["project", "-id"], name="instructions_newest"),
        ),
        migrations.AddConstraint(
            model_name="taskinstructions",
            constraint=models.UniqueConstraint(
                fields=("run", "path"), name="instructions_once_per_run"
            ),
        ),
        migrations.AddIndex(
            model_name="tasklookup",
            index=models.Index(fields=["project", "-id"], name="lookup_newest"),
        ),
        migrations.AddConstraint(
            model_name="tasklookup",
            constraint=models.UniqueConstraint(
                fields=("run", "path"), name="lookup_once_per_run"
            ),
        ),
        migrations.AddConstraint(
            model_name="tasklookup",
            constraint=models.CheckConstraint(
                condition=models.Q(("outcome__in", ["found", "empty", "missing"])),
                name="lookup_outcome_known",
            ),
        ),
    ]
