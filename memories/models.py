"""Models of memories, with their vectors, changes, files, tags, pairs and purges."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.utils import timezone
from pgvector.django import HalfVectorField

from common.ids import uuid7
from common.text.quote import visible_line
from inference.embedding.vector import StoredVector, Vector
from memories import searchable_text
from memories.queries import (
    CURRENT_COLUMNS,
    CURRENT_OR_DUPLICATE,
    IN_NAMED_WORKSPACE,
    OWNER,
    PAST_TASK,
    TOLD,
    FileQuerySet,
    FindingQuerySet,
    MemoryChangeQuerySet,
    MemoryExposureQuerySet,
    MemoryQuerySet,
    PossibleDuplicateQuerySet,
    PurgeQuerySet,
    TagQuerySet,
)
from memories.scopes import Scope
from projects.models import Project
from search.columns import TermsField, lexeme_gin_index, terms_of

# The kinds of memories that an agent is given for a question (seed 004).
TIER_KINDS = ("fact", "episode")


class Memory(models.Model):
    """One thing that an agent or a person wants to remember."""

    class Type(models.TextChoices):
        ERROR_FIX = "error_fix"
        DISCOVERY = "discovery"
        DECISION = "decision"
        LEARNING = "learning"
        WARNING = "warning"
        CODEBASE_KNOWLEDGE = "codebase_knowledge"

    class Kind(models.TextChoices):
        NOTE = "note"
        FACT = "fact"
        PROCEDURE = "procedure"
        EPISODE = "episode"

    class ScopeKind(models.TextChoices):
        SESSION = "session"
        USER = "user"
        WORKSPACE = "workspace"
        ORG = "org"
        OBJECT = "object"

    class Sensitivity(models.TextChoices):
        PUBLIC = "public"
        PRIVATE = "private"
        SENSITIVE = "sensitive"

    class Source(models.TextChoices):
        USER = "user"
        AGENT = "agent"
        REFLECT = "reflect"
        SYSTEM = "system"
        TOOL = "tool"
        IMPORT = "import"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, db_index=False)
    organization_id = models.UUIDField()
    agent_id = models.CharField(max_length=255)
    user_id = models.CharField(max_length=255, blank=True)

    memory_type = models.CharField(max_length=24, choices=Type)
    kind = models.CharField(max_length=16, choices=Kind, default=Kind.NOTE)
    title = models.CharField(max_length=500, blank=True)
    key = models.CharField(max_length=255, blank=True)
    value = models.JSONField(null=True, blank=True)
    content = models.TextField()
    goal = models.TextField(blank=True)
    result = models.TextField(blank=True)
    feedback = models.TextField(blank=True)
    tool_usage = models.JSONField(default=list, blank=True)
    steps = models.JSONField(default=list, blank=True)
    outcome = models.TextField(blank=True)
    lessons = models.TextField(blank=True)
    tags = ArrayField(models.CharField(max_length=64), default=list, blank=True)
    metadata = models.JSONField(default=dict, blank=True)

    # These fields are immutable after creation. `scope_type` is the type of the object in
    # an object scope. `scope_user` keeps sessions of two users apart if the sessions have
    # the same name.
    scope_kind = models.CharField(
        max_length=16, choices=ScopeKind, default=ScopeKind.WORKSPACE
    )
    scope_type = models.CharField(max_length=255, blank=True)
    scope_key = models.CharField(max_length=255)
    scope_user = models.CharField(max_length=255, blank=True)
    scope_hash = models.CharField(max_length=32, editable=False)
    sensitivity = models.CharField(
        max_length=16, choices=Sensitivity, default=Sensitivity.PRIVATE
    )

    confidence = models.FloatField(null=True, blank=True)
    source = models.CharField(max_length=16, choices=Source, default=Source.AGENT)
    promoted_from = models.UUIDField(null=True, blank=True)
    compacted_from = ArrayField(models.UUIDField(), default=list, blank=True)
    # What the service records of a compaction: {generation, level, model, provenance}. A
    # promoted copy of the result has the record too.
    compaction = models.JSONField(default=dict, blank=True, editable=False)
    created_in_session_id = models.CharField(max_length=255, blank=True)
    provenance = models.JSONField(default=dict, blank=True)

    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    occurred_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    verified_at = models.DateTimeField(null=True, blank=True)
    # When a question last found a fact or an episode, to the day.
    recalled_at = models.DateTimeField(null=True, blank=True, editable=False)
    version = models.PositiveIntegerField(default=1)

    similarity_hash = models.CharField(max_length=64, editable=False)
    is_duplicate = models.BooleanField(default=False)
    duplicate_of = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="duplicates",
        db_index=False,
    )
    # If true, the memory is never marked as a duplicate. A person decided so, or the memory
    # is derived from others.
    kept_apart = models.BooleanField(default=False)
    # The row's vector was compared with its neighbours.
    is_compared = models.BooleanField(default=False)

    superseded_by = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="supersedes",
        db_index=False,
    )
    archived_at = models.DateTimeField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)
    deleted_by = models.CharField(max_length=200, blank=True)
    delete_reason = models.CharField(max_length=500, blank=True)
    # The id of the derived memory, if a promotion or compaction deleted this memory.
    retired_into = models.UUIDField(null=True, blank=True, editable=False)

    content_tsv = SearchVectorField(editable=False)
    content_terms = models.GeneratedField(
        expression=terms_of("content_tsv"),
        output_field=TermsField(),
        db_persist=True,
    )

    objects = MemoryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "memories"
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(
                    memory_type__in=[
                        "error_fix",
                        "discovery",
                        "decision",
                        "learning",
                        "warning",
                        "codebase_knowledge",
                    ]
                ),
                name="memory_type_known",
            ),
            models.CheckConstraint(
                condition=models.Q(kind__in=["note", "fact", "procedure", "episode"]),
                name="memory_kind_known",
            ),
            models.CheckConstraint(
                condition=models.Q(
                    scope_kind__in=["session", "user", "workspace", "org", "object"]
                ),
                name="memory_scope_known",
            ),
            models.CheckConstraint(
                condition=models.Q(sensitivity__in=["public", "private", "sensitive"]),
                name="memory_sensitivity_known",
            ),
            models.CheckConstraint(
                condition=models.Q(confidence=None)
                | models.Q(confidence__gte=0, confidence__lte=1),
                name="memory_confidence_share",
            ),
            models.CheckConstraint(
                condition=models.Q(is_duplicate=False, duplicate_of=None)
                | models.Q(is_duplicate=True, duplicate_of__isnull=False),
                name="memory_duplicate_names_original",
            ),
            models.CheckConstraint(
                condition=~models.Q(duplicate_of=models.F("id")),
                name="memory_not_its_own_duplicate",
            ),
            models.UniqueConstraint(
                fields=[
                    "project",
                    "scope_hash",
                    "sensitivity",
                    "key",
                    "similarity_hash",
                ],
                condition=models.Q(kept_apart=False, **CURRENT_COLUMNS),
                name="memory_one_original",
            ),
            models.UniqueConstraint(
                fields=["project", "scope_hash", "key"],
                condition=models.Q(kind="fact", **CURRENT_COLUMNS) & ~models.Q(key=""),
                name="memory_one_current_fact",
            ),
        ]
        indexes = [
            lexeme_gin_index("memory_lexemes"),
            GinIndex(fields=["tags"], name="memory_tags"),
            # This index serves equality only, and is half as large as one of all keys.
            GinIndex(
                fields=["metadata"],
                opclasses=["jsonb_path_ops"],
                name="memory_metadata",
            ),
            models.Index(fields=["project", "-id"], name="memory_project_newest"),
            models.Index(
                fields=["project", "scope_hash", "-id"], name="memory_scope_newest"
            ),
            models.Index(
                fields=["organization_id", "-id"],
                condition=models.Q(scope_kind="org", **CURRENT_COLUMNS),
                name="memory_org_newest",
            ),
            models.Index(
                fields=["expires_at"],
                condition=models.Q(expires_at__isnull=False, archived_at=None),
                name="memory_expiring",
            ),
            models.Index(
                fields=["duplicate_of"],
                condition=models.Q(duplicate_of__isnull=False),
                name="memory_duplicates",
            ),
            models.Index(
                fields=["superseded_by"],
                condition=models.Q(superseded_by__isnull=False),
                name="memory_superseded",
            ),
            # An index-only scan of this index counts the memories that were stored in a week.
            models.Index(
                fields=["project", "created_at"],
                include=["memory_type", "is_duplicate"],
                name="memory_stored",
            ),
            # This index serves to count the use of the quotas.
            models.Index(
                "project",
                OWNER,
                "kind",
                condition=models.Q(**CURRENT_COLUMNS),
                name="memory_live",
            ),
            # This index serves to say that a read without a scope leaves workspaces out.
            models.Index(
                fields=["project"],
                condition=IN_NAMED_WORKSPACE & models.Q(**CURRENT_COLUMNS),
                name="memory_named_workspace",
            ),
            # This index serves searches of facts or episodes, which are few of all memories.
            models.Index(
                fields=["project", "kind"],
                condition=models.Q(kind__in=TIER_KINDS, **CURRENT_COLUMNS),
                name="memory_of_tier",
            ),
            # This index serves searches of past tasks, in the same way.
            models.Index(
                fields=["project"],
                condition=PAST_TASK & models.Q(**CURRENT_COLUMNS),
                name="memory_of_past_task",
            ),
            # This index serves the start of a session, which gives what people told. It has
            # duplicates too, whose originals are given.
            models.Index(
                fields=["project"],
                condition=TOLD & models.Q(**CURRENT_OR_DUPLICATE),
                name="memory_told",
            ),
            # This index serves the lineage. It is partial, because few memories are derived
            # from others.
            models.Index(
                fields=["promoted_from"],
                condition=models.Q(promoted_from__isnull=False),
                name="memory_promoted",
            ),
            GinIndex(
                fields=["compacted_from"],
                condition=~models.Q(compacted_from=[]),
                name="memory_compacted",
            ),
        ]

    def __str__(self) -> str:
        return visible_line(self.title or self.content[:80])

    @property
    def scope(self) -> dict[str, str]:
        """Return the scope in the form that the API writes."""
        return self.typed_scope.to_dict()

    @property
    def typed_scope(self) -> Scope:
        return Scope(self.scope_kind, self.scope_key, self.scope_type, self.scope_user)

    @property
    def outcome_word(self) -> str:
        """How a task ended, in one word; the `outcome` of an episode is a text.

        It is "" for a memory that records no task.
        """
        return str(self.metadata.get("outcome") or self.outcome)

    @property
    def is_past_task(self) -> bool:
        """Whether this memory is an episode or the record of a finished task."""
        is_record = self.kind == self.Kind.NOTE and bool(self.goal and self.result)
        return self.kind == self.Kind.EPISODE or is_record

    @property
    def is_keyed_fact(self) -> bool:
        """Whether this memory is a fact with a key.

        Only the key decides which memories such a fact supersedes and repeats.
        """
        return self.kind == self.Kind.FACT and bool(self.key)

    @property
    def is_derived(self) -> bool:
        """Whether this memory was made from others."""
        return bool(self.promoted_from or self.compacted_from)

    @property
    def is_compaction_result(self) -> bool:
        """Whether this memory is the result of a compaction, and not a promoted copy."""
        return bool(self.compacted_from) and self.promoted_from is None

    @property
    def is_expired(self) -> bool:
        return self.expires_at is not None and self.expires_at < timezone.now()

    @property
    def is_inactive(self) -> bool:
        return bool(self.deleted_at or self.archived_at or self.is_expired)

    @property
    def is_current(self) -> bool:
        """Whether reads and searches find this memory by default.

        The conditions are those of `current()`.
        """
        return not (self.is_duplicate or self.superseded_by_id or self.is_inactive)

    @property
    def embedding(self) -> Vector | None:
        """Return the active model's vector of the first chunk.

        Return None if the memory is not embedded yet.
        """
        from inference.embedding import active_model  # loads the model runtime

        vector = self.vectors.filter(model=active_model.find_name(), chunk=0).first()
        return vector.vector if vector else None

    @property
    def text(self) -> str:
        """Return the text that is embedded, chunk by chunk.

        The semantic lane and the check for duplicates use the vectors.
        """
        return searchable_text.whole_text(self)


class MemoryVector(StoredVector, models.Model):
    """The vector of one chunk of a memory's text, computed by one model.

    A short text has one chunk. Vectors of two models are never compared.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    memory = models.ForeignKey(
        Memory, on_delete=models.CASCADE, related_name="vectors", db_index=False
    )
    project_id = models.UUIDField()
    model = models.CharField(max_length=300)
    chunk = models.PositiveSmallIntegerField(default=0, db_default=0)
    # The first character of the chunk, and the character after its end. None if the text
    # has one chunk, or if an older release made the vector.
    starts_at = models.IntegerField(null=True, editable=False)
    ends_at = models.IntegerField(null=True, editable=False)
    embedding = HalfVectorField(editable=False)

    class Meta:
        ordering = ["memory_id", "chunk"]
        constraints = [
            models.UniqueConstraint(
                fields=["memory", "model", "chunk"], name="vector_once_per_chunk"
            )
        ]
        indexes = [
            models.Index(fields=["project_id", "model"], name="vector_project_model")
        ]

    def __str__(self) -> str:
        return f"{self.memory_id} by {self.model}"

    @property
    def vector(self) -> Vector:
        if self.starts_at is None or self.ends_at is None:
            return super().vector
        span = self.starts_at, self.ends_at
        return Vector(self.embedding, model=self.model, span=span)


# A memory with the vectors of its chunks, in order.
EmbeddedMemory = tuple[Memory, Sequence[Vector]]


class MemoryChange(models.Model):
    """A change of a memory.

    The row has the changed fields only. Rows are only ever added, and have no foreign keys.
    """

    class Action(models.TextChoices):
        CREATE = "create"
        UPDATE = "update"
        DELETE = "delete"
        RESTORE = "restore"
        PROMOTE = "promote"
        COMPACT = "compact"
        SUPERSEDE = "supersede"
        DUPLICATE_MARK = "duplicate_mark"
        UNMARK = "unmark"
        VERIFY = "verify"
        ARCHIVE = "archive"
        PURGE = "purge"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    memory_id = models.UUIDField()
    project_id = models.UUIDField()
    action = models.CharField(max_length=16, choices=Action)
    actor = models.CharField(max_length=200)
    agent_id = models.CharField(max_length=255, blank=True)
    source = models.CharField(max_length=16, blank=True)
    before = models.JSONField(default=dict)
    after = models.JSONField(default=dict)
    reason = models.CharField(max_length=500, blank=True)
    request_id = models.CharField(max_length=64, blank=True)
    at = models.DateTimeField(auto_now_add=True)

    objects = MemoryChangeQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["memory_id", "-id"], name="memory_change_newest"),
            models.Index(fields=["project_id", "-id"], name="memory_change_project"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.memory_id}"


class File(models.Model):
    """A file of the project's code base that memories link to."""

    GONE = "gone"  # the `attested_hash` of a file that is gone

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, db_index=False)
    file_path = models.CharField(max_length=1000)
    file_type = models.CharField(max_length=32, blank=True)
    last_content_hash = models.CharField(max_length=128, blank=True)
    renamed_from = models.JSONField(default=list, blank=True)
    # The time when a sync last reported that the file changed or is gone.
    changed_at = models.DateTimeField(null=True, blank=True)
    # What callers that may attest reported last, a hash or GONE, and when that changed.
    # Only their reports make an entry of the playbook suspect.
    attested_hash = models.CharField(max_length=128, blank=True, db_default="")
    attested_change_at = models.DateTimeField(null=True, blank=True)
    first_seen_at = models.DateTimeField(auto_now_add=True)
    last_seen_at = models.DateTimeField(auto_now_add=True)

    objects = FileQuerySet.as_manager()

    class Meta:
        ordering = ["project_id", "file_path"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "file_path"], name="file_path_once_per_project"
            ),
            models.CheckConstraint(
                condition=~models.Q(file_path=""), name="file_path_not_empty"
            ),
        ]

    def __str__(self) -> str:
        return visible_line(self.file_path)

    @property
    def is_gone(self) -> bool:
        """Whether the file is gone.

        A sync reported that the file is gone, and no memory has linked to the file since.
        """
        return self.changed_at is not None and self.last_seen_at < self.changed_at


class MemoryFile(models.Model):
    """A link between a memory and a file, with the relation of the two."""

    class Relation(models.TextChoices):
        READ = "read"
        MODIFIED = "modified"
        CREATED = "created"
        DELETED = "deleted"
        REFERENCED = "referenced"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    memory = models.ForeignKey(
        Memory, on_delete=models.CASCADE, related_name="file_links", db_index=False
    )
    file = models.ForeignKey(
        File, on_delete=models.CASCADE, related_name="links", db_index=False
    )
    relation_type = models.CharField(
        max_length=16, choices=Relation, default=Relation.REFERENCED
    )
    line_start = models.PositiveIntegerField(null=True, blank=True)
    line_end = models.PositiveIntegerField(null=True, blank=True)
    content_hash = models.CharField(max_length=128, blank=True)
    suspect_since = models.DateTimeField(null=True, blank=True)
    # Whether the project believes who made the link (common.caller.Caller.attests_in).
    is_attested = models.BooleanField(default=False, db_default=False)

    class Meta:
        ordering = ["memory_id", "file_id"]
        constraints = [
            models.UniqueConstraint(
                fields=["memory", "file", "relation_type"], name="link_once"
            ),
            models.CheckConstraint(
                condition=models.Q(
                    relation_type__in=[
                        "read",
                        "modified",
                        "created",
                        "deleted",
                        "referenced",
                    ]
                ),
                name="link_relation_known",
            ),
            models.CheckConstraint(
                condition=models.Q(line_end=None)
                | models.Q(
                    line_start__isnull=False, line_end__gte=models.F("line_start")
                ),
                name="link_lines_in_order",
            ),
        ]
        indexes = [models.Index(fields=["file", "memory"], name="link_file_memory")]

    def __str__(self) -> str:
        return f"{self.memory_id} {self.relation_type} {self.file_id}"


class Tag(models.Model):
    """A tag of a project.

    Memories store the name of the tag.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, db_index=False)
    name = models.CharField(max_length=64)
    description = models.TextField(blank=True, max_length=2000)
    category = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = TagQuerySet.as_manager()

    class Meta:
        ordering = ["project_id", "name"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "name"], name="tag_name_once_per_project"
            ),
            models.CheckConstraint(
                condition=~models.Q(name=""), name="tag_name_not_empty"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class PossibleDuplicate(models.Model):
    """Two similar memories, and why the newer one was not marked as a duplicate."""

    class PairState(models.TextChoices):
        OPEN = "open"
        KEPT_BOTH = "kept_both"
        MERGED = "merged"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT)
    memory = models.ForeignKey(
        Memory, on_delete=models.CASCADE, related_name="doubts_as_newer", db_index=False
    )
    other = models.ForeignKey(
        Memory, on_delete=models.CASCADE, related_name="doubts_as_older"
    )
    similarity = models.FloatField()
    why_not_merged = models.CharField(max_length=300)
    state = models.CharField(max_length=16, choices=PairState, default=PairState.OPEN)
    decided_by = models.CharField(max_length=200, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    note = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = PossibleDuplicateQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["memory", "other"], name="doubt_once"),
            models.CheckConstraint(
                condition=~models.Q(memory=models.F("other")), name="doubt_of_two"
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=["open", "kept_both", "merged"]),
                name="doubt_state_known",
            ),
        ]
        indexes = [
            models.Index(
                fields=["project", "-id"],
                condition=models.Q(state="open"),
                name="doubt_open",
            )
        ]

    def __str__(self) -> str:
        return f"{self.memory_id} ~ {self.other_id}"


class DuplicateFinding(models.Model):
    """A pair of memories that a duplicate scan found.

    If `why_not_merged` is empty, the pair is a duplicate.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    job_id = models.UUIDField()
    project = models.ForeignKey(Project, on_delete=models.PROTECT)
    memory = models.ForeignKey(
        Memory, on_delete=models.CASCADE, related_name="found_as_newer"
    )
    original = models.ForeignKey(
        Memory, on_delete=models.CASCADE, related_name="found_as_original"
    )
    similarity = models.FloatField()
    why_not_merged = models.CharField(max_length=300, blank=True)

    objects = FindingQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["job_id", "memory", "original"], name="finding_once_per_job"
            )
        ]

    def __str__(self) -> str:
        return f"{self.memory_id} ~ {self.original_id}"


class GivenUse(models.TextChoices):
    """How a task used what its agent was given."""

    CITED = "cited", "the agent cited it"
    COMMAND = "command", "the task ran a command or tool that it names"
    FILE = "file", "the task touched a file that it names"


class MemoryExposure(models.Model):
    """A memory that an agent got, in which call, and how the agent then used it.

    `run_id` and `used_as` are empty until the agent's next finished task is credited with
    the exposure.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, db_index=False)
    memory = models.ForeignKey(
        Memory, on_delete=models.CASCADE, related_name="exposures", db_index=False
    )
    run_id = models.UUIDField(null=True, blank=True)
    agent_id = models.CharField(max_length=255, blank=True)
    key_id = models.UUIDField()
    used_as = models.CharField(max_length=8, choices=GivenUse, blank=True)
    # The request that gave the memory to the agent.
    request_id = models.CharField(max_length=64, blank=True)
    at = models.DateTimeField(auto_now_add=True)

    objects = MemoryExposureQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["run_id", "memory"], name="memory_exposure_once_per_run"
            ),
        ]
        indexes = [
            models.Index(
                fields=["project", "agent_id", "-id"],
                condition=models.Q(run_id=None),
                name="memory_exposure_uncredited",
            ),
            models.Index(fields=["memory", "-at"], name="memory_exposure_newest"),
            models.Index(fields=["project", "at"], name="memory_exposure_of_week"),
            # This index serves to count the uses of a memory: few of what is given is used.
            models.Index(
                fields=["memory"],
                condition=~models.Q(used_as=""),
                name="memory_exposure_used",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.memory_id} at {self.at:%Y-%m-%d}"


class Purge(models.Model):
    """The receipt of a purge.

    The receipt tells what was removed, by whom and why. It does not hold the removed texts.
    """

    class PurgeState(models.TextChoices):
        WAITING = "waiting"
        DONE = "done"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, db_index=False)
    state = models.CharField(
        max_length=16, choices=PurgeState, default=PurgeState.WAITING
    )
    # The selection has one of the keys ids, scope, user_id, session_id and object. Its
    # value is masked when the purge is done.
    selection = models.JSONField()
    cascade = models.BooleanField(default=False)
    reason = models.CharField(max_length=500)
    # The number of affected rows of each table: {table: rows}.
    counts = models.JSONField(default=dict)
    # What was derived from the texts: [{kind, id, how, is_purged}].
    descendants = models.JSONField(default=list)
    actor = models.CharField(max_length=200)
    key_id = models.UUIDField(null=True, blank=True)
    job_id = models.UUIDField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    done_at = models.DateTimeField(null=True, blank=True)

    objects = PurgeQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state__in=["waiting", "done"]),
                name="purge_state_known",
            )
        ]
        indexes = [models.Index(fields=["project", "-id"], name="purge_newest")]

    def __str__(self) -> str:
        return f"{', '.join(self.selection)} purged at {self.created_at:%Y-%m-%d %H:%M}"


class PurgedText(models.Model):
    """The HMAC of a text that a purge removed, with one place where the text was."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    purge = models.ForeignKey(
        Purge, on_delete=models.CASCADE, related_name="texts", db_index=False
    )
    hmac = models.CharField(max_length=32)
    table = models.CharField(max_length=63)
    column = models.CharField(max_length=63)
    row_id = models.CharField(max_length=64)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["purge", "hmac"], name="purged_text_once_per_purge"
            )
        ]

    def __str__(self) -> str:
        return f"{self.hmac} of {self.table}.{self.column}"
