from __future__ import annotations

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
import pgvector.django.halfvec
from django.db import migrations, models

import common.ids
import inference.embedding.vector
import search.columns
from common import append_only


class Migration(migrations.Migration):
    initial = True
    replaces = [
        ("playbook", "0002_learning"),
        ("playbook", "0003_support_ends_by_a_change"),
        ("playbook", "0004_anchors_of_entries"),
        ("playbook", "0005_order_of_the_inbox"),
        ("playbook", "0006_review_alarm"),
        ("playbook", "0007_tiers"),
        ("playbook", "0008_arms_of_lexemes"),
        ("playbook", "0009_one_index_less"),
        ("playbook", "0010_exposures_by_run"),
        ("playbook", "0011_changes_by_delta"),
        ("playbook", "0012_attestation"),
        ("playbook", "0013_chunks"),
        ("playbook", "0014_embed_long_entries"),
        ("playbook", "0015_applies_to"),
        ("playbook", "0016_use_of_exposures"),
        ("playbook", "0017_correct_operation"),
        ("playbook", "0018_forget_operation"),
    ]

    dependencies = [
        ("search", "0001_initial"),
        ("memories", "0001_initial"),
        ("projects", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Playbook",
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
                ("revision", models.PositiveIntegerField(default=0)),
                ("next_label", models.PositiveIntegerField(default=1)),
                ("tokens", models.PositiveIntegerField(default=0)),
                ("alarmed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "project",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        to="projects.project",
                    ),
                ),
            ],
            options={
                "ordering": ["project_id"],
            },
        ),
        migrations.CreateModel(
            name="PlaybookChange",
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
                ("revision", models.PositiveIntegerField()),
                ("position", models.PositiveSmallIntegerField(default=0)),
                (
                    "operation",
                    models.CharField(
                        choices=[
                            ("add", "Add"),
                            ("update", "Update"),
                            ("delete", "Delete"),
                        ],
                        max_length=8,
                    ),
                ),
                ("action", models.CharField(max_length=16)),
                ("entry_id", models.UUIDField()),
                ("entry_label", models.CharField(max_length=64)),
                ("before", models.JSONField(default=dict)),
                ("after", models.JSONField(default=dict)),
                ("actor", models.CharField(max_length=200)),
                ("agent_id", models.CharField(blank=True, max_length=255)),
                ("reason", models.CharField(blank=True, max_length=1000)),
                ("related_memory_id", models.UUIDField(null=True)),
                ("delta_id", models.UUIDField(null=True)),
                ("run_id", models.UUIDField(null=True)),
                ("reverts_id", models.UUIDField(null=True)),
                ("request_id", models.CharField(blank=True, max_length=64)),
                ("changed_at", models.DateTimeField()),
            ],
            options={
                "ordering": ["-revision", "-position"],
                "indexes": [
                    models.Index(
                        fields=["entry_id", "-id"], name="change_entry_newest"
                    ),
                    models.Index(
                        fields=["project_id", "-id"], name="change_project_newest"
                    ),
                    models.Index(fields=["run_id"], name="change_run"),
                    models.Index(
                        condition=models.Q(("delta_id__isnull", False)),
                        fields=["delta_id"],
                        name="change_delta",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("project_id", "revision", "position"),
                        name="change_once_per_revision",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("operation__in", ["add", "update", "delete"])
                        ),
                        name="change_operation_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PlaybookEntry",
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
                ("label", models.CharField(max_length=64)),
                ("content", models.TextField()),
                ("category", models.CharField(max_length=40)),
                ("condition", models.TextField(blank=True)),
                ("action", models.TextField(blank=True)),
                (
                    "tags",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=64),
                        blank=True,
                        default=list,
                        size=None,
                    ),
                ),
                (
                    "applies_to",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=200),
                        blank=True,
                        db_default=[],
                        default=list,
                        size=None,
                    ),
                ),
                ("priority", models.IntegerField(default=0)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("active", "Active"),
                            ("deprecated", "Deprecated"),
                            ("superseded", "Superseded"),
                            ("deleted", "Deleted"),
                        ],
                        default="active",
                        max_length=16,
                    ),
                ),
                (
                    "is_active",
                    models.GeneratedField(
                        db_persist=True,
                        expression=models.Q(("status", "active")),
                        output_field=models.BooleanField(),
                    ),
                ),
                ("helpful", models.PositiveIntegerField(default=0)),
                ("harmful", models.PositiveIntegerField(default=0)),
                ("neutral", models.PositiveIntegerField(default=0)),
                (
                    "author_kind",
                    models.CharField(
                        choices=[
                            ("human", "Human"),
                            ("rule", "Rule"),
                            ("model", "Model"),
                        ],
                        max_length=8,
                    ),
                ),
                ("locked", models.BooleanField(default=False)),
                ("pinned", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField()),
                ("created_by", models.CharField(max_length=200)),
                ("updated_at", models.DateTimeField()),
                ("verified_at", models.DateTimeField(blank=True, null=True)),
                ("review_after", models.DateTimeField(blank=True, null=True)),
                ("version", models.PositiveIntegerField(default=1)),
                (
                    "merged_from",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(),
                        blank=True,
                        default=list,
                        size=None,
                    ),
                ),
                (
                    "aliases",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=64),
                        blank=True,
                        default=list,
                        size=None,
                    ),
                ),
                ("similarity_hash", models.CharField(editable=False, max_length=64)),
                (
                    "content_tsv",
                    django.contrib.postgres.search.SearchVectorField(editable=False),
                ),
                (
                    "content_terms",
                    models.GeneratedField(
                        db_persist=True,
                        expression=models.Func(
                            models.F("content_tsv"),
                            function="bm25_terms",
                            output_field=search.columns.TermsField(
                                dimensions=268435456
                            ),
                        ),
                        output_field=search.columns.TermsField(dimensions=268435456),
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
                    "superseded_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="supersedes",
                        to="playbook.playbookentry",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "playbook entries",
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="PlaybookDelta",
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
                    "operation",
                    models.CharField(
                        choices=[
                            ("add", "Add"),
                            ("update", "Update"),
                            ("delete", "Delete"),
                            ("merge", "Merge"),
                            ("deprecate", "Deprecate"),
                            ("restore", "Restore"),
                            ("tag", "Tag"),
                            ("vote", "Vote"),
                            ("correct", "Correct"),
                            ("forget", "Forget"),
                        ],
                        max_length=16,
                    ),
                ),
                (
                    "expected_version",
                    models.PositiveIntegerField(blank=True, null=True),
                ),
                ("targets", models.JSONField(blank=True, default=list)),
                ("content", models.TextField(blank=True)),
                ("category", models.CharField(blank=True, max_length=40)),
                ("payload", models.JSONField(blank=True, default=dict)),
                ("suggested", models.JSONField(blank=True, default=dict)),
                (
                    "similarity_hash",
                    models.CharField(blank=True, editable=False, max_length=64),
                ),
                ("seen_again", models.PositiveIntegerField(default=0)),
                ("reason", models.CharField(blank=True, max_length=1000)),
                ("evidence", models.JSONField(blank=True, default=list)),
                ("gates", models.JSONField(blank=True, default=list)),
                ("risk", models.CharField(default="low", max_length=16)),
                (
                    "producer",
                    models.CharField(
                        choices=[
                            ("rule", "Rule"),
                            ("model", "Model"),
                            ("human", "Human"),
                        ],
                        max_length=8,
                    ),
                ),
                ("producer_name", models.CharField(blank=True, max_length=100)),
                ("producer_version", models.CharField(blank=True, max_length=40)),
                ("proposed_by", models.CharField(max_length=200)),
                ("key_id", models.UUIDField(blank=True, null=True)),
                (
                    "person",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        editable=False,
                        max_length=32,
                    ),
                ),
                ("agent_id", models.CharField(blank=True, max_length=255)),
                ("run_id", models.UUIDField(blank=True, null=True)),
                ("memory_id", models.UUIDField(blank=True, null=True)),
                ("idempotency_key", models.CharField(max_length=64, unique=True)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("applied", "Applied"),
                            ("accepted", "Accepted"),
                            ("edited", "Edited"),
                            ("rejected", "Rejected"),
                            ("reverted", "Reverted"),
                            ("stale", "Stale"),
                        ],
                        default="pending",
                        max_length=16,
                    ),
                ),
                ("reviewer", models.CharField(blank=True, max_length=200)),
                ("review_note", models.CharField(blank=True, max_length=1000)),
                ("reviewed_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("version", models.PositiveIntegerField(default=1)),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="projects.project",
                    ),
                ),
                (
                    "entry",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="deltas",
                        to="playbook.playbookentry",
                    ),
                ),
            ],
            options={
                "verbose_name": "playbook delta",
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="Exposure",
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
                ("run_id", models.UUIDField(blank=True, null=True)),
                ("agent_id", models.CharField(blank=True, max_length=255)),
                ("key_id", models.UUIDField(blank=True, null=True)),
                (
                    "source",
                    models.CharField(
                        choices=[
                            ("render", "Render"),
                            ("context", "Context"),
                            ("reported", "Reported"),
                        ],
                        default="reported",
                        max_length=8,
                    ),
                ),
                ("relevance", models.FloatField(blank=True, null=True)),
                ("was_cited", models.BooleanField(default=False)),
                (
                    "used_as",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("cited", "the agent cited it"),
                            ("command", "the task ran a command or tool that it names"),
                            ("file", "the task touched a file that it names"),
                        ],
                        db_default="",
                        default="",
                        max_length=8,
                    ),
                ),
                (
                    "request_id",
                    models.CharField(
                        blank=True, db_default="", default="", max_length=64
                    ),
                ),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        to="projects.project",
                    ),
                ),
                (
                    "entry",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="exposures",
                        to="playbook.playbookentry",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="EntryVector",
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
                ("model", models.CharField(max_length=300)),
                ("chunk", models.PositiveSmallIntegerField(db_default=0, default=0)),
                ("embedding", pgvector.django.halfvec.HalfVectorField(editable=False)),
                (
                    "entry",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="vectors",
                        to="playbook.playbookentry",
                    ),
                ),
            ],
            options={
                "ordering": ["entry_id", "chunk"],
            },
            bases=(inference.embedding.vector.StoredVector, models.Model),
        ),
        migrations.CreateModel(
            name="Conflict",
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
                ("reason", models.CharField(max_length=500)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("superseded", "Superseded"),
                            ("split", "Split"),
                            ("rejected", "Rejected"),
                        ],
                        default="open",
                        max_length=16,
                    ),
                ),
                (
                    "decided_with",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(),
                        blank=True,
                        default=list,
                        size=None,
                    ),
                ),
                ("note", models.CharField(blank=True, max_length=1000)),
                ("decided_by", models.CharField(blank=True, max_length=200)),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        to="projects.project",
                    ),
                ),
                (
                    "delta",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="conflicts",
                        to="playbook.playbookdelta",
                    ),
                ),
                (
                    "left",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="conflicts_as_left",
                        to="playbook.playbookentry",
                    ),
                ),
                (
                    "right",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="conflicts_as_right",
                        to="playbook.playbookentry",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="Anchor",
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
                ("file_path", models.CharField(max_length=1000)),
                (
                    "entry",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="anchors",
                        to="playbook.playbookentry",
                    ),
                ),
            ],
            options={
                "ordering": ["entry_id", "file_path"],
            },
        ),
        migrations.CreateModel(
            name="Support",
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
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "entry",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="supports",
                        to="playbook.playbookentry",
                    ),
                ),
                (
                    "memory",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="supports",
                        to="memories.memory",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.AddField(
            model_name="playbookentry",
            name="supporting_memories",
            field=models.ManyToManyField(
                related_name="playbook_entries",
                through="playbook.Support",
                to="memories.memory",
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
            },
        ),
        migrations.CreateModel(
            name="DeltaVector",
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
                ("model", models.CharField(max_length=300)),
                ("embedding", pgvector.django.halfvec.HalfVectorField(editable=False)),
                (
                    "delta",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="vectors",
                        to="playbook.playbookdelta",
                    ),
                ),
            ],
            options={
                "ordering": ["delta_id"],
                "indexes": [
                    models.Index(
                        fields=["project_id", "model"],
                        name="delta_vector_project_model",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("delta", "model"), name="delta_vector_once_per_model"
                    )
                ],
            },
            bases=(inference.embedding.vector.StoredVector, models.Model),
        ),
        migrations.AddIndex(
            model_name="playbookdelta",
            index=models.Index(
                fields=["project", "status", "-id"], name="delta_newest"
            ),
        ),
        migrations.AddIndex(
            model_name="playbookdelta",
            index=models.Index(fields=["run_id"], name="delta_run"),
        ),
        migrations.AddIndex(
            model_name="playbookdelta",
            index=models.Index(
                condition=models.Q(("status", "rejected")),
                fields=["project", "similarity_hash"],
                name="delta_rejected_text",
            ),
        ),
        migrations.AddIndex(
            model_name="playbookdelta",
            index=models.Index(
                models.F("project"),
                models.Case(
                    models.When(risk="high", then=0),
                    models.When(risk="medium", then=1),
                    models.When(risk="low", then=2),
                    default=3,
                    output_field=models.SmallIntegerField(),
                ),
                models.OrderBy(
                    models.Func(
                        "evidence",
                        function="jsonb_array_length",
                        output_field=models.IntegerField(),
                    ),
                    descending=True,
                ),
                models.F("id"),
                condition=models.Q(("status__in", ["pending", "stale"])),
                name="delta_inbox",
            ),
        ),
        migrations.AddIndex(
            model_name="playbookdelta",
            index=models.Index(
                condition=models.Q(
                    ("status", "rejected"),
                    models.Q(("payload__has_key", "repeats"), _negated=True),
                ),
                fields=["project", "-id"],
                name="delta_refused",
            ),
        ),
        migrations.AddConstraint(
            model_name="playbookdelta",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "operation__in",
                        [
                            "add",
                            "update",
                            "delete",
                            "merge",
                            "deprecate",
                            "restore",
                            "tag",
                            "vote",
                            "correct",
                            "forget",
                        ],
                    )
                ),
                name="delta_operation_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="playbookdelta",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "status__in",
                        [
                            "pending",
                            "applied",
                            "accepted",
                            "edited",
                            "rejected",
                            "reverted",
                            "stale",
                        ],
                    )
                ),
                name="delta_status_known",
            ),
        ),
        migrations.AddIndex(
            model_name="exposure",
            index=models.Index(
                condition=models.Q(("run_id", None)),
                fields=["project", "agent_id", "-id"],
                name="exposure_uncredited",
            ),
        ),
        migrations.AddIndex(
            model_name="exposure",
            index=models.Index(fields=["entry", "-at"], name="exposure_entry_newest"),
        ),
        migrations.AddConstraint(
            model_name="exposure",
            constraint=models.UniqueConstraint(
                fields=("run_id", "entry"), name="exposure_once_per_run"
            ),
        ),
        migrations.AddConstraint(
            model_name="exposure",
            constraint=models.CheckConstraint(
                condition=models.Q(("source__in", ["render", "context", "reported"])),
                name="exposure_source_known",
            ),
        ),
        migrations.AddIndex(
            model_name="entryvector",
            index=models.Index(
                fields=["project_id", "model"], name="entry_vector_project_model"
            ),
        ),
        migrations.AddConstraint(
            model_name="entryvector",
            constraint=models.UniqueConstraint(
                fields=("entry", "model", "chunk"), name="entry_vector_once_per_chunk"
            ),
        ),
        migrations.AddConstraint(
            model_name="conflict",
            constraint=models.UniqueConstraint(
                fields=("left", "right", "delta"),
                name="conflict_once",
                nulls_distinct=False,
            ),
        ),
        migrations.AddConstraint(
            model_name="conflict",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("state__in", ["open", "superseded", "split", "rejected"])
                ),
                name="conflict_state_known",
            ),
        ),
        migrations.AddIndex(
            model_name="anchor",
            index=models.Index(fields=["project_id", "file_path"], name="anchor_file"),
        ),
        migrations.AddConstraint(
            model_name="anchor",
            constraint=models.UniqueConstraint(
                fields=("entry", "file_path"), name="anchor_once_per_entry"
            ),
        ),
        migrations.AddConstraint(
            model_name="support",
            constraint=models.UniqueConstraint(
                fields=("entry", "memory"), name="support_once"
            ),
        ),
        migrations.AddIndex(
            model_name="playbookentry",
            index=django.contrib.postgres.indexes.GinIndex(
                models.Func(models.F("content_tsv"), function="within_arms"),
                fastupdate=False,
                name="entry_lexemes",
            ),
        ),
        migrations.AddIndex(
            model_name="playbookentry",
            index=django.contrib.postgres.indexes.GinIndex(
                fields=["tags"], name="entry_tags"
            ),
        ),
        migrations.AddIndex(
            model_name="playbookentry",
            index=models.Index(
                fields=["project", "status", "-id"], name="entry_newest"
            ),
        ),
        migrations.AddConstraint(
            model_name="playbookentry",
            constraint=models.UniqueConstraint(
                fields=("project", "label"), name="entry_label_never_reused"
            ),
        ),
        migrations.AddConstraint(
            model_name="playbookentry",
            constraint=models.UniqueConstraint(
                condition=models.Q(("status", "active")),
                fields=("project", "similarity_hash"),
                name="entry_text_once_active",
            ),
        ),
        migrations.AddConstraint(
            model_name="playbookentry",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("status__in", ["active", "deprecated", "superseded", "deleted"])
                ),
                name="entry_status_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="playbookentry",
            constraint=models.CheckConstraint(
                condition=models.Q(("content", ""), _negated=True),
                name="entry_content_not_empty",
            ),
        ),
        migrations.AddConstraint(
            model_name="unattestedvote",
            constraint=models.UniqueConstraint(
                fields=("entry", "kind", "person"), name="unattested_vote_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="unattestedvote",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["helpful", "harmful"])),
                name="unattested_vote_kind_known",
            ),
        ),
        append_only.guard("playbook_playbookchange"),
        # ANALYZE would compute the expression of 30,000 rows, for half a minute.
        migrations.RunSQL(
            "ALTER INDEX entry_lexemes ALTER COLUMN 1 SET STATISTICS 0",
            migrations.RunSQL.noop,
        ),
    ]
