from __future__ import annotations

import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
import django.utils.timezone
import pgvector.django.halfvec
from django.db import migrations, models

import common.ids
import conversations.models
import inference.embedding.vector
import search.columns
from common import append_only


class Migration(migrations.Migration):
    initial = True
    replaces = [
        ("conversations", "0002_agents"),
        ("conversations", "0003_when_invocations_were_hidden"),
        ("conversations", "0004_transcripts"),
    ]

    dependencies = [
        ("search", "0001_initial"),
        ("projects", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="AgentMemoryChange",
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
                ("user_id", models.CharField(blank=True, max_length=255)),
                ("agent_id", models.CharField(max_length=255)),
                ("session_id", models.UUIDField(blank=True, null=True)),
                ("session_key", models.CharField(blank=True, max_length=200)),
                (
                    "scope",
                    models.CharField(
                        choices=[
                            ("profile", "Profile"),
                            ("soul", "Soul"),
                            ("constraint", "Constraint"),
                            ("skill", "Skill"),
                            ("compaction", "Compaction"),
                        ],
                        max_length=16,
                    ),
                ),
                (
                    "action",
                    models.CharField(
                        choices=[
                            ("create", "Create"),
                            ("update", "Update"),
                            ("delete", "Delete"),
                            ("compact", "Compact"),
                        ],
                        max_length=16,
                    ),
                ),
                (
                    "source",
                    models.CharField(
                        choices=[
                            ("user", "User"),
                            ("agent", "Agent"),
                            ("reflect", "Reflect"),
                            ("system", "System"),
                        ],
                        max_length=16,
                    ),
                ),
                ("version_before", models.PositiveIntegerField(blank=True, null=True)),
                ("version_after", models.PositiveIntegerField(blank=True, null=True)),
                ("before_text", models.TextField(blank=True)),
                ("after_text", models.TextField(blank=True)),
                ("actor", models.CharField(max_length=200)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [
                    models.Index(
                        fields=["project_id", "agent_id", "user_id", "-id"],
                        name="agent_memory_change_newest",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Session",
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
                ("key", models.CharField(max_length=200)),
                ("agent_id", models.CharField(max_length=255)),
                ("user_id", models.CharField(blank=True, max_length=255)),
                ("channel", models.CharField(blank=True, max_length=100)),
                ("title", models.CharField(blank=True, max_length=500)),
                ("metadata", models.JSONField(blank=True, default=dict)),
                ("token_budget", models.PositiveIntegerField(blank=True, null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "last_active",
                    models.DateTimeField(default=django.utils.timezone.now),
                ),
                ("archived_at", models.DateTimeField(blank=True, null=True)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                ("last_seq", models.PositiveIntegerField(default=0)),
                ("message_count", models.PositiveIntegerField(default=0)),
                ("token_count", models.PositiveBigIntegerField(default=0)),
                ("context_tokens", models.PositiveBigIntegerField(default=0)),
                (
                    "snapshot_version",
                    models.PositiveIntegerField(blank=True, null=True),
                ),
                ("snapshot_at", models.DateTimeField(blank=True, null=True)),
                ("has_memory", models.BooleanField(default=True)),
                ("scanned_invocation", models.PositiveIntegerField(default=0)),
                ("invocations_hidden_at", models.DateTimeField(blank=True, null=True)),
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
            name="Invocation",
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
                ("seq", models.PositiveIntegerField()),
                ("query", models.TextField()),
                ("summary", models.TextField(blank=True)),
                ("result", models.TextField(blank=True)),
                ("run_id", models.UUIDField(blank=True, null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("hidden_at", models.DateTimeField(blank=True, null=True)),
                (
                    "session",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="invocations",
                        to="conversations.session",
                    ),
                ),
            ],
            options={
                "ordering": ["session_id", "seq"],
            },
        ),
        migrations.CreateModel(
            name="Summary",
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
                    "summary_id",
                    models.CharField(
                        default=conversations.models.new_summary_id,
                        editable=False,
                        max_length=20,
                        unique=True,
                    ),
                ),
                ("project_id", models.UUIDField()),
                (
                    "kind",
                    models.CharField(
                        choices=[("leaf", "Leaf"), ("condensed", "Condensed")],
                        max_length=16,
                    ),
                ),
                ("depth", models.PositiveSmallIntegerField(default=0)),
                ("content", models.TextField()),
                ("tokens", models.PositiveIntegerField()),
                ("earliest_at", models.DateTimeField()),
                ("latest_at", models.DateTimeField()),
                ("first_seq", models.PositiveIntegerField()),
                ("last_seq", models.PositiveIntegerField()),
                ("message_count", models.PositiveIntegerField()),
                ("summarizer", models.CharField(max_length=50)),
                ("model", models.CharField(blank=True, max_length=300)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
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
                    "parent",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="children",
                        to="conversations.summary",
                    ),
                ),
                (
                    "session",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="summaries",
                        to="conversations.session",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "summaries",
                "ordering": ["session_id", "first_seq"],
            },
        ),
        migrations.CreateModel(
            name="Message",
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
                ("seq", models.PositiveIntegerField()),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("system", "System"),
                            ("user", "User"),
                            ("assistant", "Assistant"),
                            ("tool", "Tool"),
                        ],
                        max_length=16,
                    ),
                ),
                ("parts", models.JSONField(default=list)),
                ("text", models.TextField(blank=True)),
                ("has_words", models.BooleanField(default=False)),
                ("tokens", models.PositiveIntegerField()),
                ("external_id", models.CharField(blank=True, max_length=255)),
                ("metadata", models.JSONField(blank=True, default=dict)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("hidden_at", models.DateTimeField(blank=True, null=True)),
                ("redacted_at", models.DateTimeField(blank=True, null=True)),
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
                    "session",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="messages",
                        to="conversations.session",
                    ),
                ),
                (
                    "leaf",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="messages",
                        to="conversations.summary",
                    ),
                ),
            ],
            options={
                "ordering": ["session_id", "seq"],
            },
        ),
        migrations.CreateModel(
            name="SummaryVector",
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
                ("chunk", models.PositiveSmallIntegerField(default=0)),
                ("embedding", pgvector.django.halfvec.HalfVectorField(editable=False)),
                (
                    "summary",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="vectors",
                        to="conversations.summary",
                    ),
                ),
            ],
            options={
                "ordering": ["summary_id", "chunk"],
            },
            bases=(inference.embedding.vector.StoredVector, models.Model),
        ),
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
            },
        ),
        migrations.CreateModel(
            name="AgentMemory",
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
                ("user_id", models.CharField(blank=True, max_length=255)),
                ("agent_id", models.CharField(max_length=255)),
                ("profile", models.TextField(blank=True)),
                ("soul", models.TextField(blank=True)),
                ("constraints", models.JSONField(default=list)),
                ("version", models.PositiveIntegerField(default=0)),
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
                "verbose_name_plural": "agent memories",
                "ordering": ["-id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("project", "user_id", "agent_id"),
                        name="agent_memory_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="MemorySwitch",
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
                ("user_id", models.CharField(blank=True, max_length=255)),
                ("is_enabled", models.BooleanField(default=True)),
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
                "verbose_name_plural": "memory switches",
                "ordering": ["-id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("project", "user_id"), name="memory_switch_one_per_user"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="MessageVector",
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
                ("chunk", models.PositiveSmallIntegerField(default=0)),
                ("embedding", pgvector.django.halfvec.HalfVectorField(editable=False)),
                (
                    "message",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="vectors",
                        to="conversations.message",
                    ),
                ),
            ],
            options={
                "ordering": ["message_id", "chunk"],
                "indexes": [
                    models.Index(
                        fields=["project_id", "model"], name="message_vector_model"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("message", "model", "chunk"),
                        name="message_vector_per_chunk",
                    )
                ],
            },
            bases=(inference.embedding.vector.StoredVector, models.Model),
        ),
        migrations.AddIndex(
            model_name="session",
            index=models.Index(
                fields=["project", "-last_active", "-id"], name="session_newest"
            ),
        ),
        migrations.AddIndex(
            model_name="session",
            index=models.Index(
                fields=["project", "user_id", "agent_id"], name="session_of_user"
            ),
        ),
        migrations.AddConstraint(
            model_name="session",
            constraint=models.UniqueConstraint(
                fields=("project", "key", "user_id"), name="session_one_per_key"
            ),
        ),
        migrations.AddConstraint(
            model_name="invocation",
            constraint=models.UniqueConstraint(
                fields=("session", "seq"), name="invocation_one_per_seq"
            ),
        ),
        migrations.AddConstraint(
            model_name="invocation",
            constraint=models.UniqueConstraint(
                condition=models.Q(("run_id__isnull", False)),
                fields=("run_id",),
                name="invocation_one_per_run",
            ),
        ),
        migrations.AddIndex(
            model_name="summary",
            index=django.contrib.postgres.indexes.GinIndex(
                models.Func(models.F("content_tsv"), function="within_arms"),
                fastupdate=False,
                name="summary_lexemes",
            ),
        ),
        migrations.AddIndex(
            model_name="summary",
            index=models.Index(
                fields=["session", "first_seq"], name="summary_in_session"
            ),
        ),
        migrations.AddIndex(
            model_name="summary",
            index=models.Index(
                condition=models.Q(("parent", None)),
                fields=["session", "-last_seq"],
                name="summary_in_context",
            ),
        ),
        migrations.AddIndex(
            model_name="message",
            index=django.contrib.postgres.indexes.GinIndex(
                models.Func(models.F("content_tsv"), function="within_arms"),
                fastupdate=False,
                name="message_lexemes",
            ),
        ),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(
                condition=models.Q(("hidden_at", None), ("leaf", None)),
                fields=["session", "-seq"],
                name="message_in_context",
            ),
        ),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(
                condition=models.Q(("leaf__isnull", False)),
                fields=["leaf", "seq"],
                name="message_of_leaf",
            ),
        ),
        migrations.AddConstraint(
            model_name="message",
            constraint=models.UniqueConstraint(
                fields=("session", "seq"), name="message_one_per_seq"
            ),
        ),
        migrations.AddConstraint(
            model_name="message",
            constraint=models.UniqueConstraint(
                condition=models.Q(
                    ("hidden_at", None), models.Q(("external_id", ""), _negated=True)
                ),
                fields=("session", "external_id"),
                name="message_one_per_external_id",
            ),
        ),
        migrations.AddConstraint(
            model_name="message",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("role__in", ["system", "user", "assistant", "tool"])
                ),
                name="message_role_known",
            ),
        ),
        migrations.AddIndex(
            model_name="summaryvector",
            index=models.Index(
                fields=["project_id", "model"], name="summary_vector_model"
            ),
        ),
        migrations.AddConstraint(
            model_name="summaryvector",
            constraint=models.UniqueConstraint(
                fields=("summary", "model", "chunk"), name="summary_vector_per_chunk"
            ),
        ),
        migrations.AddIndex(
            model_name="transcript",
            index=models.Index(
                condition=models.Q(("ended_at", None)),
                fields=["project_id", "updated_at"],
                name="transcript_open",
            ),
        ),
        migrations.AddConstraint(
            model_name="transcript",
            constraint=models.UniqueConstraint(
                fields=("session", "format"), name="transcript_one_per_format"
            ),
        ),
        append_only.guard("conversations_agentmemorychange"),
    ]
