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
        ("memories", "0002_file_changed_at"),
        ("memories", "0003_purges"),
        ("memories", "0004_memory_live"),
        ("memories", "0005_memory_stored"),
        ("memories", "0006_memory_descent"),
        ("memories", "0007_tiers"),
        ("memories", "0008_arms_of_lexemes"),
        ("memories", "0009_one_index_less"),
        ("memories", "0010_retired_into"),
        ("memories", "0011_indexes_of_few"),
        ("memories", "0012_attested_change"),
        ("memories", "0013_compaction_record"),
        ("memories", "0014_attested_links"),
        ("memories", "0015_chunks"),
        ("memories", "0016_upgrade_texts"),
        ("memories", "0017_metadata_index"),
        ("memories", "0018_chunk_spans"),
        ("memories", "0019_recalled_at"),
        ("memories", "0020_memory_of_tier"),
        ("memories", "0021_memory_exposures"),
    ]

    dependencies = [
        ("search", "0001_initial"),
        ("projects", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="File",
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
                ("file_path", models.CharField(max_length=1000)),
                ("file_type", models.CharField(blank=True, max_length=32)),
                ("last_content_hash", models.CharField(blank=True, max_length=128)),
                ("renamed_from", models.JSONField(blank=True, default=list)),
                ("changed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "attested_hash",
                    models.CharField(blank=True, db_default="", max_length=128),
                ),
                ("attested_change_at", models.DateTimeField(blank=True, null=True)),
                ("first_seen_at", models.DateTimeField(auto_now_add=True)),
                ("last_seen_at", models.DateTimeField(auto_now_add=True)),
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
                "ordering": ["project_id", "file_path"],
            },
        ),
        migrations.CreateModel(
            name="Memory",
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
                ("organization_id", models.UUIDField()),
                ("agent_id", models.CharField(max_length=255)),
                ("user_id", models.CharField(blank=True, max_length=255)),
                (
                    "memory_type",
                    models.CharField(
                        choices=[
                            ("error_fix", "Error Fix"),
                            ("discovery", "Discovery"),
                            ("decision", "Decision"),
                            ("learning", "Learning"),
                            ("warning", "Warning"),
                            ("codebase_knowledge", "Codebase Knowledge"),
                        ],
                        max_length=24,
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("note", "Note"),
                            ("fact", "Fact"),
                            ("procedure", "Procedure"),
                            ("episode", "Episode"),
                        ],
                        default="note",
                        max_length=16,
                    ),
                ),
                ("title", models.CharField(blank=True, max_length=500)),
                ("key", models.CharField(blank=True, max_length=255)),
                ("value", models.JSONField(blank=True, null=True)),
                ("content", models.TextField()),
                ("goal", models.TextField(blank=True)),
                ("result", models.TextField(blank=True)),
                ("feedback", models.TextField(blank=True)),
                ("tool_usage", models.JSONField(blank=True, default=list)),
                ("steps", models.JSONField(blank=True, default=list)),
                ("outcome", models.TextField(blank=True)),
                ("lessons", models.TextField(blank=True)),
                (
                    "tags",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=64),
                        blank=True,
                        default=list,
                        size=None,
                    ),
                ),
                ("metadata", models.JSONField(blank=True, default=dict)),
                (
                    "scope_kind",
                    models.CharField(
                        choices=[
                            ("session", "Session"),
                            ("user", "User"),
                            ("workspace", "Workspace"),
                            ("org", "Org"),
                            ("object", "Object"),
                        ],
                        default="workspace",
                        max_length=16,
                    ),
                ),
                ("scope_type", models.CharField(blank=True, max_length=255)),
                ("scope_key", models.CharField(max_length=255)),
                ("scope_user", models.CharField(blank=True, max_length=255)),
                ("scope_hash", models.CharField(editable=False, max_length=32)),
                (
                    "sensitivity",
                    models.CharField(
                        choices=[
                            ("public", "Public"),
                            ("private", "Private"),
                            ("sensitive", "Sensitive"),
                        ],
                        default="private",
                        max_length=16,
                    ),
                ),
                ("confidence", models.FloatField(blank=True, null=True)),
                (
                    "source",
                    models.CharField(
                        choices=[
                            ("user", "User"),
                            ("agent", "Agent"),
                            ("reflect", "Reflect"),
                            ("system", "System"),
                            ("tool", "Tool"),
                            ("import", "Import"),
                        ],
                        default="agent",
                        max_length=16,
                    ),
                ),
                ("promoted_from", models.UUIDField(blank=True, null=True)),
                (
                    "compacted_from",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(),
                        blank=True,
                        default=list,
                        size=None,
                    ),
                ),
                (
                    "compaction",
                    models.JSONField(blank=True, default=dict, editable=False),
                ),
                ("created_in_session_id", models.CharField(blank=True, max_length=255)),
                ("provenance", models.JSONField(blank=True, default=dict)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                ("occurred_at", models.DateTimeField(blank=True, null=True)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("verified_at", models.DateTimeField(blank=True, null=True)),
                (
                    "recalled_at",
                    models.DateTimeField(blank=True, editable=False, null=True),
                ),
                ("version", models.PositiveIntegerField(default=1)),
                ("similarity_hash", models.CharField(editable=False, max_length=64)),
                ("is_duplicate", models.BooleanField(default=False)),
                ("kept_apart", models.BooleanField(default=False)),
                ("is_compared", models.BooleanField(default=False)),
                ("archived_at", models.DateTimeField(blank=True, null=True)),
                ("deleted_at", models.DateTimeField(blank=True, null=True)),
                ("deleted_by", models.CharField(blank=True, max_length=200)),
                ("delete_reason", models.CharField(blank=True, max_length=500)),
                (
                    "retired_into",
                    models.UUIDField(blank=True, editable=False, null=True),
                ),
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
                    "duplicate_of",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="duplicates",
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
                (
                    "superseded_by",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="supersedes",
                        to="memories.memory",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "memories",
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="DuplicateFinding",
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
                ("job_id", models.UUIDField()),
                ("similarity", models.FloatField()),
                ("why_not_merged", models.CharField(blank=True, max_length=300)),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        to="projects.project",
                    ),
                ),
                (
                    "memory",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="found_as_newer",
                        to="memories.memory",
                    ),
                ),
                (
                    "original",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="found_as_original",
                        to="memories.memory",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="MemoryChange",
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
                ("memory_id", models.UUIDField()),
                ("project_id", models.UUIDField()),
                (
                    "action",
                    models.CharField(
                        choices=[
                            ("create", "Create"),
                            ("update", "Update"),
                            ("delete", "Delete"),
                            ("restore", "Restore"),
                            ("promote", "Promote"),
                            ("compact", "Compact"),
                            ("supersede", "Supersede"),
                            ("duplicate_mark", "Duplicate Mark"),
                            ("unmark", "Unmark"),
                            ("verify", "Verify"),
                            ("archive", "Archive"),
                            ("purge", "Purge"),
                        ],
                        max_length=16,
                    ),
                ),
                ("actor", models.CharField(max_length=200)),
                ("agent_id", models.CharField(blank=True, max_length=255)),
                ("source", models.CharField(blank=True, max_length=16)),
                ("before", models.JSONField(default=dict)),
                ("after", models.JSONField(default=dict)),
                ("reason", models.CharField(blank=True, max_length=500)),
                ("request_id", models.CharField(blank=True, max_length=64)),
                ("at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [
                    models.Index(
                        fields=["memory_id", "-id"], name="memory_change_newest"
                    ),
                    models.Index(
                        fields=["project_id", "-id"], name="memory_change_project"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="MemoryExposure",
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
                ("key_id", models.UUIDField()),
                (
                    "used_as",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("cited", "the agent cited it"),
                            ("command", "the task ran a command or tool that it names"),
                            ("file", "the task touched a file that it names"),
                        ],
                        max_length=8,
                    ),
                ),
                ("request_id", models.CharField(blank=True, max_length=64)),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "memory",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="exposures",
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
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="MemoryFile",
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
                    "relation_type",
                    models.CharField(
                        choices=[
                            ("read", "Read"),
                            ("modified", "Modified"),
                            ("created", "Created"),
                            ("deleted", "Deleted"),
                            ("referenced", "Referenced"),
                        ],
                        default="referenced",
                        max_length=16,
                    ),
                ),
                ("line_start", models.PositiveIntegerField(blank=True, null=True)),
                ("line_end", models.PositiveIntegerField(blank=True, null=True)),
                ("content_hash", models.CharField(blank=True, max_length=128)),
                ("suspect_since", models.DateTimeField(blank=True, null=True)),
                ("is_attested", models.BooleanField(db_default=False, default=False)),
                (
                    "file",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="links",
                        to="memories.file",
                    ),
                ),
                (
                    "memory",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="file_links",
                        to="memories.memory",
                    ),
                ),
            ],
            options={
                "ordering": ["memory_id", "file_id"],
            },
        ),
        migrations.CreateModel(
            name="MemoryVector",
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
                ("starts_at", models.IntegerField(editable=False, null=True)),
                ("ends_at", models.IntegerField(editable=False, null=True)),
                ("embedding", pgvector.django.halfvec.HalfVectorField(editable=False)),
                (
                    "memory",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="vectors",
                        to="memories.memory",
                    ),
                ),
            ],
            options={
                "ordering": ["memory_id", "chunk"],
            },
            bases=(inference.embedding.vector.StoredVector, models.Model),
        ),
        migrations.CreateModel(
            name="PossibleDuplicate",
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
                ("similarity", models.FloatField()),
                ("why_not_merged", models.CharField(max_length=300)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("kept_both", "Kept Both"),
                            ("merged", "Merged"),
                        ],
                        default="open",
                        max_length=16,
                    ),
                ),
                ("decided_by", models.CharField(blank=True, max_length=200)),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
                ("note", models.CharField(blank=True, max_length=500)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "memory",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="doubts_as_newer",
                        to="memories.memory",
                    ),
                ),
                (
                    "other",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="doubts_as_older",
                        to="memories.memory",
                    ),
                ),
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
            },
        ),
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
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="projects.project",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
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
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="texts",
                        to="memories.purge",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="Tag",
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
                ("description", models.TextField(blank=True, max_length=2000)),
                ("category", models.CharField(blank=True, max_length=64)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
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
                "ordering": ["project_id", "name"],
            },
        ),
        migrations.AddConstraint(
            model_name="file",
            constraint=models.UniqueConstraint(
                fields=("project", "file_path"), name="file_path_once_per_project"
            ),
        ),
        migrations.AddConstraint(
            model_name="file",
            constraint=models.CheckConstraint(
                condition=models.Q(("file_path", ""), _negated=True),
                name="file_path_not_empty",
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=django.contrib.postgres.indexes.GinIndex(
                models.Func(models.F("content_tsv"), function="within_arms"),
                fastupdate=False,
                name="memory_lexemes",
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=django.contrib.postgres.indexes.GinIndex(
                fields=["tags"], name="memory_tags"
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=django.contrib.postgres.indexes.GinIndex(
                fields=["metadata"],
                name="memory_metadata",
                opclasses=["jsonb_path_ops"],
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(fields=["project", "-id"], name="memory_project_newest"),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                fields=["project", "scope_hash", "-id"], name="memory_scope_newest"
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(
                    ("archived_at__isnull", True),
                    ("deleted_at__isnull", True),
                    ("is_duplicate", False),
                    ("scope_kind", "org"),
                    ("superseded_by__isnull", True),
                ),
                fields=["organization_id", "-id"],
                name="memory_org_newest",
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(
                    ("archived_at", None), ("expires_at__isnull", False)
                ),
                fields=["expires_at"],
                name="memory_expiring",
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(("duplicate_of__isnull", False)),
                fields=["duplicate_of"],
                name="memory_duplicates",
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(("superseded_by__isnull", False)),
                fields=["superseded_by"],
                name="memory_superseded",
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                fields=["project", "created_at"],
                include=("memory_type", "is_duplicate"),
                name="memory_stored",
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                models.F("project"),
                models.Case(
                    models.When(
                        models.Q(("user_id", ""), _negated=True),
                        then=models.F("user_id"),
                    ),
                    models.When(scope_kind="user", then=models.F("scope_key")),
                    default=models.F("scope_user"),
                ),
                models.F("kind"),
                condition=models.Q(
                    ("archived_at__isnull", True),
                    ("deleted_at__isnull", True),
                    ("is_duplicate", False),
                    ("superseded_by__isnull", True),
                ),
                name="memory_live",
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(
                    ("archived_at__isnull", True),
                    ("deleted_at__isnull", True),
                    ("is_duplicate", False),
                    ("kind__in", ("fact", "episode")),
                    ("superseded_by__isnull", True),
                ),
                fields=["project", "kind"],
                name="memory_of_tier",
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(("promoted_from__isnull", False)),
                fields=["promoted_from"],
                name="memory_promoted",
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=django.contrib.postgres.indexes.GinIndex(
                condition=models.Q(("compacted_from", []), _negated=True),
                fields=["compacted_from"],
                name="memory_compacted",
            ),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "memory_type__in",
                        [
                            "error_fix",
                            "discovery",
                            "decision",
                            "learning",
                            "warning",
                            "codebase_knowledge",
                        ],
                    )
                ),
                name="memory_type_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("kind__in", ["note", "fact", "procedure", "episode"])
                ),
                name="memory_kind_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "scope_kind__in",
                        ["session", "user", "workspace", "org", "object"],
                    )
                ),
                name="memory_scope_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("sensitivity__in", ["public", "private", "sensitive"])
                ),
                name="memory_sensitivity_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("confidence", None),
                    models.Q(("confidence__gte", 0), ("confidence__lte", 1)),
                    _connector="OR",
                ),
                name="memory_confidence_share",
            ),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("duplicate_of", None), ("is_duplicate", False)),
                    models.Q(("duplicate_of__isnull", False), ("is_duplicate", True)),
                    _connector="OR",
                ),
                name="memory_duplicate_names_original",
            ),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.CheckConstraint(
                condition=models.Q(("duplicate_of", models.F("id")), _negated=True),
                name="memory_not_its_own_duplicate",
            ),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.UniqueConstraint(
                condition=models.Q(
                    ("archived_at__isnull", True),
                    ("deleted_at__isnull", True),
                    ("is_duplicate", False),
                    ("kept_apart", False),
                    ("superseded_by__isnull", True),
                ),
                fields=(
                    "project",
                    "scope_hash",
                    "sensitivity",
                    "key",
                    "similarity_hash",
                ),
                name="memory_one_original",
            ),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.UniqueConstraint(
                condition=models.Q(
                    ("archived_at__isnull", True),
                    ("deleted_at__isnull", True),
                    ("is_duplicate", False),
                    ("kind", "fact"),
                    ("superseded_by__isnull", True),
                    models.Q(("key", ""), _negated=True),
                ),
                fields=("project", "scope_hash", "key"),
                name="memory_one_current_fact",
            ),
        ),
        migrations.AddConstraint(
            model_name="duplicatefinding",
            constraint=models.UniqueConstraint(
                fields=("job_id", "memory", "original"), name="finding_once_per_job"
            ),
        ),
        migrations.AddIndex(
            model_name="memoryexposure",
            index=models.Index(
                condition=models.Q(("run_id", None)),
                fields=["project", "agent_id", "-id"],
                name="memory_exposure_uncredited",
            ),
        ),
        migrations.AddIndex(
            model_name="memoryexposure",
            index=models.Index(fields=["memory", "-at"], name="memory_exposure_newest"),
        ),
        migrations.AddIndex(
            model_name="memoryexposure",
            index=models.Index(
                fields=["project", "at"], name="memory_exposure_of_week"
            ),
        ),
        migrations.AddConstraint(
            model_name="memoryexposure",
            constraint=models.UniqueConstraint(
                fields=("run_id", "memory"), name="memory_exposure_once_per_run"
            ),
        ),
        migrations.AddIndex(
            model_name="memoryfile",
            index=models.Index(fields=["file", "memory"], name="link_file_memory"),
        ),
        migrations.AddConstraint(
            model_name="memoryfile",
            constraint=models.UniqueConstraint(
                fields=("memory", "file", "relation_type"), name="link_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="memoryfile",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "relation_type__in",
                        ["read", "modified", "created", "deleted", "referenced"],
                    )
                ),
                name="link_relation_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="memoryfile",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("line_end", None),
                    models.Q(
                        ("line_end__gte", models.F("line_start")),
                        ("line_start__isnull", False),
                    ),
                    _connector="OR",
                ),
                name="link_lines_in_order",
            ),
        ),
        migrations.AddIndex(
            model_name="memoryvector",
            index=models.Index(
                fields=["project_id", "model"], name="vector_project_model"
            ),
        ),
        migrations.AddConstraint(
            model_name="memoryvector",
            constraint=models.UniqueConstraint(
                fields=("memory", "model", "chunk"), name="vector_once_per_chunk"
            ),
        ),
        migrations.AddIndex(
            model_name="possibleduplicate",
            index=models.Index(
                condition=models.Q(("state", "open")),
                fields=["project", "-id"],
                name="doubt_open",
            ),
        ),
        migrations.AddConstraint(
            model_name="possibleduplicate",
            constraint=models.UniqueConstraint(
                fields=("memory", "other"), name="doubt_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="possibleduplicate",
            constraint=models.CheckConstraint(
                condition=models.Q(("memory", models.F("other")), _negated=True),
                name="doubt_of_two",
            ),
        ),
        migrations.AddConstraint(
            model_name="possibleduplicate",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["open", "kept_both", "merged"])),
                name="doubt_state_known",
            ),
        ),
        migrations.AddIndex(
            model_name="purge",
            index=models.Index(fields=["project", "-id"], name="purge_newest"),
        ),
        migrations.AddConstraint(
            model_name="purge",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["waiting", "done"])),
                name="purge_state_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="purgedtext",
            constraint=models.UniqueConstraint(
                fields=("purge", "hmac"), name="purged_text_once_per_purge"
            ),
        ),
        migrations.AddConstraint(
            model_name="tag",
            constraint=models.UniqueConstraint(
                fields=("project", "name"), name="tag_name_once_per_project"
            ),
        ),
        migrations.AddConstraint(
            model_name="tag",
            constraint=models.CheckConstraint(
                condition=models.Q(("name", ""), _negated=True),
                name="tag_name_not_empty",
            ),
        ),
        append_only.guard("memories_memorychange"),
        # ANALYZE would compute the expression of 30,000 rows, for half a minute.
        migrations.RunSQL(
            "ALTER INDEX memory_lexemes ALTER COLUMN 1 SET STATISTICS 0",
            migrations.RunSQL.noop,
        ),
    ]
