from __future__ import annotations

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from pgvector.django import HalfVectorField

from common.ids import uuid7
from common.text.quote import visible_line
from inference import tokens
from inference.embedding.vector import StoredVector, Vector
from memories.models import GivenUse, Memory
from playbook.queries import (
    QUOTE_COUNT,
    REFUSED_ONCE,
    RISK_RANK,
    UNDECIDED,
    DeltaQuerySet,
    EntryQuerySet,
    ExposureQuerySet,
    MemoryScopedQuerySet,
    PlaybookChangeQuerySet,
    ProjectScopedQuerySet,
)
from playbook.rule_text import entry_line
from projects.models import Project
from search.columns import TermsField, lexeme_gin_index, terms_of


class Playbook(models.Model):
    """The playbook of a project.

    Every change of the playbook's entries locks this row.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.OneToOneField(Project, on_delete=models.PROTECT)
    revision = models.PositiveIntegerField(default=0)
    next_label = models.PositiveIntegerField(default=1)
    tokens = models.PositiveIntegerField(default=0)

    objects = ProjectScopedQuerySet.as_manager()

    class Meta:
        ordering = ["project_id"]

    def __str__(self) -> str:
        return f"revision {self.revision}"


class PlaybookEntry(models.Model):
    """A rule that the agents of a project get."""

    class EntryStatus(models.TextChoices):
        ACTIVE = "active"
        DEPRECATED = "deprecated"
        SUPERSEDED = "superseded"
        DELETED = "deleted"

    class Author(models.TextChoices):
        HUMAN = "human"
        RULE = "rule"
        MODEL = "model"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, db_index=False)
    label = models.CharField(max_length=64)
    content = models.TextField()
    category = models.CharField(max_length=40)
    condition = models.TextField(blank=True)
    action = models.TextField(blank=True)
    tags = ArrayField(models.CharField(max_length=64), default=list, blank=True)
    # Where the rule applies: `playbook.rule_text.applicability`.
    applies_to = ArrayField(
        models.CharField(max_length=200), default=list, db_default=[], blank=True
    )
    # Until when it holds, in words: "PR 214 merged".
    expires_when = models.CharField(
        max_length=200, blank=True, default="", db_default=""
    )
    priority = models.IntegerField(default=0)
    supporting_memories = models.ManyToManyField(
        Memory, through="Support", related_name="playbook_entries"
    )

    status = models.CharField(
        max_length=16, choices=EntryStatus, default=EntryStatus.ACTIVE
    )
    is_active = models.GeneratedField(
        expression=models.Q(status="active"),  # type: ignore[arg-type]  # Q has what is used
        output_field=models.BooleanField(),
        db_persist=True,
    )
    helpful = models.PositiveIntegerField(default=0)
    harmful = models.PositiveIntegerField(default=0)
    neutral = models.PositiveIntegerField(default=0)
    author_kind = models.CharField(max_length=8, choices=Author)
    locked = models.BooleanField(default=False)
    pinned = models.BooleanField(default=False)

    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=200)
    updated_at = models.DateTimeField()
    verified_at = models.DateTimeField(null=True, blank=True)
    review_after = models.DateTimeField(null=True, blank=True)
    version = models.PositiveIntegerField(default=1)
    superseded_by = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="supersedes",
    )
    merged_from = ArrayField(models.UUIDField(), default=list, blank=True)
    aliases = ArrayField(models.CharField(max_length=64), default=list, blank=True)

    similarity_hash = models.CharField(max_length=64, editable=False)
    content_tsv = SearchVectorField(editable=False)
    content_terms = models.GeneratedField(
        expression=terms_of("content_tsv"),
        output_field=TermsField(),
        db_persist=True,
    )

    objects = EntryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "playbook entries"
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "label"], name="entry_label_never_reused"
            ),
            models.UniqueConstraint(
                fields=["project", "similarity_hash"],
                condition=models.Q(status="active"),
                name="entry_text_once_active",
            ),
            models.CheckConstraint(
                condition=models.Q(
                    status__in=["active", "deprecated", "superseded", "deleted"]
                ),
                name="entry_status_known",
            ),
            models.CheckConstraint(
                condition=~models.Q(content=""), name="entry_content_not_empty"
            ),
        ]
        indexes = [
            lexeme_gin_index("entry_lexemes"),
            GinIndex(fields=["tags"], name="entry_tags"),
            models.Index(fields=["project", "status", "-id"], name="entry_newest"),
        ]

    def __str__(self) -> str:
        return f"[{self.label}] {visible_line(self.content[:80])}"

    @property
    def is_doubted(self) -> bool:
        """Whether the entry has harmful votes, and at least as many of them as helpful votes."""
        return self.harmful >= max(self.helpful, 1)

    @property
    def confidence(self) -> float:
        return confidence(self.helpful, self.harmful)

    @property
    def is_live(self) -> bool:
        """Whether the entry is active.

        Unlike `is_active`, this property follows a status that is not saved yet.
        """
        return self.status == self.EntryStatus.ACTIVE

    @property
    def is_protected(self) -> bool:
        """Whether only a person may change the entry.

        Anybody may vote on the entry or support it.
        """
        return self.locked or self.author_kind == self.Author.HUMAN

    @property
    def uses(self) -> int:
        return self.helpful + self.harmful + self.neutral

    @property
    def line(self) -> str:
        """The line of text that agents get."""
        return entry_line.write(self.label, self.content)

    @property
    def least_size(self) -> int:
        return entry_line.least_size(self.label, self.content)

    @property
    def tokens(self) -> int:
        """The number of tokens that the entry takes from the playbook's budget."""
        line = format_line(self.label, self.content)
        return tokens.estimate(line) if self.is_live else 0

    @property
    def embedding(self) -> Vector | None:
        """Return the active model's vector of the first chunk, as `Memory.embedding` does.

        Return None if the entry is not embedded yet.
        """
        from inference.embedding import active_model  # loads the model runtime

        vector = self.vectors.filter(model=active_model.find_name(), chunk=0).first()
        return vector.vector if vector else None

    @property
    def supporting_memory_ids(self) -> list[str]:
        return [str(support.memory_id) for support in self.supports.all()]


def format_line(label: str, content: str) -> str:
    """Return the line whose length counts in the budget of the whole playbook.

    Agents get the line of `entry_line.write`, which may escape a few characters.
    """
    return f"[{label}] {' '.join(content.split())}"


def confidence(helpful: int, harmful: int) -> float:
    """Return the share of helpful votes.

    One more helpful and one more harmful vote are counted than were given.
    """
    return (helpful + 1) / (helpful + harmful + 2)


class Support(models.Model):
    """A memory that supports an entry."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    entry = models.ForeignKey(
        PlaybookEntry, on_delete=models.CASCADE, related_name="supports", db_index=False
    )
    # A support ends by a change (`votes.withdraw_supports`). A cascade would make the
    # history wrong.
    memory = models.ForeignKey(
        Memory, on_delete=models.PROTECT, related_name="supports"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["entry", "memory"], name="support_once")
        ]

    def __str__(self) -> str:
        return f"{self.memory_id} supports {self.entry_id}"


class EntryVector(StoredVector, models.Model):
    """The vector of one chunk of an entry by one model."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    entry = models.ForeignKey(
        PlaybookEntry, on_delete=models.CASCADE, related_name="vectors", db_index=False
    )
    project_id = models.UUIDField()
    model = models.CharField(max_length=300)
    chunk = models.PositiveSmallIntegerField(default=0, db_default=0)
    embedding = HalfVectorField(editable=False)

    class Meta:
        ordering = ["entry_id", "chunk"]
        constraints = [
            models.UniqueConstraint(
                fields=["entry", "model", "chunk"], name="entry_vector_once_per_chunk"
            )
        ]
        indexes = [
            models.Index(
                fields=["project_id", "model"], name="entry_vector_project_model"
            )
        ]

    def __str__(self) -> str:
        return f"{self.entry_id} by {self.model}"


class Anchor(models.Model):
    """A file that an entry's text names.

    If the file changes, the entry is suspect.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    entry = models.ForeignKey(
        PlaybookEntry, on_delete=models.CASCADE, related_name="anchors", db_index=False
    )
    project_id = models.UUIDField()
    file_path = models.CharField(max_length=1000)

    class Meta:
        ordering = ["entry_id", "file_path"]
        constraints = [
            models.UniqueConstraint(
                fields=["entry", "file_path"], name="anchor_once_per_entry"
            )
        ]
        indexes = [
            models.Index(fields=["project_id", "file_path"], name="anchor_file"),
        ]

    def __str__(self) -> str:
        return f"{self.entry_id} names {self.file_path}"


class PlaybookDelta(models.Model):
    """A proposed change with its evidence.

    The delta changes the playbook once it is applied.
    """

    class DeltaOperation(models.TextChoices):
        ADD = "add"
        UPDATE = "update"
        DELETE = "delete"
        MERGE = "merge"
        DEPRECATE = "deprecate"
        RESTORE = "restore"
        TAG = "tag"
        VOTE = "vote"
        # It changes no entry: a curator deletes the memory `memory_id` softly.
        FORGET = "forget"

    class DeltaStatus(models.TextChoices):
        PENDING = "pending"
        APPLIED = "applied"
        ACCEPTED = "accepted"
        EDITED = "edited"
        REJECTED = "rejected"
        REVERTED = "reverted"
        STALE = "stale"

    # Statuses of deltas that are in force. The status says how a delta came into force.
    IN_FORCE = (DeltaStatus.APPLIED, DeltaStatus.ACCEPTED, DeltaStatus.EDITED)

    class Producer(models.TextChoices):
        RULE = "rule"
        MODEL = "model"
        AGENT = "agent"
        HUMAN = "human"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, db_index=False)
    operation = models.CharField(max_length=16, choices=DeltaOperation)
    entry = models.ForeignKey(
        PlaybookEntry,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="deltas",
    )
    expected_version = models.PositiveIntegerField(null=True, blank=True)
    # The other entries of a merge. Each item has the version of the entry that was read.
    targets = models.JSONField(default=list, blank=True)
    content = models.TextField(blank=True)
    category = models.CharField(max_length=40, blank=True)
    # Of a lesson (`playbook.lessons.lesson.Lesson`). Where `tags` and `applies_to` are null,
    # the entry keeps its own.
    kind = models.CharField(max_length=16, blank=True, default="", db_default="")
    tags = ArrayField(models.CharField(max_length=64), null=True, blank=True)
    applies_to = ArrayField(models.CharField(max_length=200), null=True, blank=True)
    confidence = models.FloatField(default=0.0, db_default=0.0)
    expires_when = models.CharField(
        max_length=200, blank=True, default="", db_default=""
    )
    session = models.CharField(max_length=255, blank=True, default="", db_default="")
    payload = models.JSONField(default=dict, blank=True)
    # The original proposal, if a person edited it before accepting.
    suggested = models.JSONField(default=dict, blank=True)
    # The persons whose agents are given it while it waits for everybody else.
    served_persons = ArrayField(
        models.CharField(max_length=32), default=list, db_default=[], blank=True
    )
    # The hash of the proposed text. A rejected lesson is recognized by this hash.
    similarity_hash = models.CharField(max_length=64, blank=True, editable=False)
    seen_again = models.PositiveIntegerField(default=0)
    reason = models.CharField(max_length=1000, blank=True)
    evidence = models.JSONField(default=list, blank=True)
    gates = models.JSONField(default=list, blank=True)
    risk = models.CharField(max_length=16, default="low")

    producer = models.CharField(max_length=8, choices=Producer)
    producer_name = models.CharField(max_length=100, blank=True)
    producer_version = models.CharField(max_length=40, blank=True)
    proposed_by = models.CharField(max_length=200)
    key_id = models.UUIDField(null=True, blank=True)
    # An opaque name of the person who proposed it; empty for proposals of before.
    person = models.CharField(
        max_length=32, blank=True, default="", db_default="", editable=False
    )
    agent_id = models.CharField(max_length=255, blank=True)
    run_id = models.UUIDField(null=True, blank=True)
    memory_id = models.UUIDField(null=True, blank=True)
    idempotency_key = models.CharField(max_length=64, unique=True)

    status = models.CharField(
        max_length=16, choices=DeltaStatus, default=DeltaStatus.PENDING
    )
    reviewer = models.CharField(max_length=200, blank=True)
    review_note = models.CharField(max_length=1000, blank=True)
    reviewed_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    version = models.PositiveIntegerField(default=1)

    objects = DeltaQuerySet.as_manager()

    class Meta:
        verbose_name = "playbook delta"
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(
                    operation__in=[
                        "add",
                        "update",
                        "delete",
                        "merge",
                        "deprecate",
                        "restore",
                        "tag",
                        "vote",
                        "forget",
                    ]
                ),
                name="delta_operation_known",
            ),
            models.CheckConstraint(
                condition=models.Q(
                    status__in=[
                        "pending",
                        "applied",
                        "accepted",
                        "edited",
                        "rejected",
                        "reverted",
                        "stale",
                    ]
                ),
                name="delta_status_known",
            ),
        ]
        indexes = [
            models.Index(fields=["project", "status", "-id"], name="delta_newest"),
            models.Index(fields=["run_id"], name="delta_run"),
            models.Index(
                fields=["project", "similarity_hash"],
                condition=models.Q(status="rejected"),
                name="delta_rejected_text",
            ),
            models.Index(
                models.F("project"),
                RISK_RANK,
                QUOTE_COUNT.desc(),
                models.F("id"),
                condition=UNDECIDED,
                name="delta_inbox",
            ),
            models.Index(
                fields=["project", "-id"], condition=REFUSED_ONCE, name="delta_refused"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.operation} ({self.status})"

    @property
    def is_quarantined(self) -> bool:
        """Whether only an owner may put the delta in force, with a typed reason."""
        return self.risk == "quarantine"

    @property
    def casts_doubt(self) -> bool:
        """Whether the entry is in doubt as long as the delta waits."""
        return "doubt" in self.payload


class DeltaVector(StoredVector, models.Model):
    """The vector of a waiting or rejected lesson, by which paraphrases are recognized."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    delta = models.ForeignKey(
        PlaybookDelta, on_delete=models.CASCADE, related_name="vectors", db_index=False
    )
    project_id = models.UUIDField()
    model = models.CharField(max_length=300)
    embedding = HalfVectorField(editable=False)

    class Meta:
        ordering = ["delta_id"]
        constraints = [
            models.UniqueConstraint(
                fields=["delta", "model"], name="delta_vector_once_per_model"
            )
        ]
        indexes = [
            models.Index(
                fields=["project_id", "model"], name="delta_vector_project_model"
            )
        ]

    def __str__(self) -> str:
        return f"{self.delta_id} by {self.model}"


class LessonCandidate(models.Model):
    """A lesson that was passed over as general, and the sessions that taught it.

    The third session makes it a proposal (`playbook.lessons.candidates`). `evidence` has the
    quotes of each session. Who may read `memory_id` may see the candidate.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, db_index=False)
    memory_id = models.UUIDField(null=True, blank=True)
    content = models.TextField()
    kind = models.CharField(max_length=16)
    similarity_hash = models.CharField(max_length=64, editable=False)
    embedding = HalfVectorField(null=True, editable=False)
    model = models.CharField(max_length=300, blank=True)
    sessions = ArrayField(models.CharField(max_length=255), default=list)
    evidence = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    objects = MemoryScopedQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(
                fields=["project", "similarity_hash"], name="candidate_same_text"
            )
        ]

    def __str__(self) -> str:
        return visible_line(self.content[:80])


class PlaybookChange(models.Model):
    """A change of an entry.

    Changes are append-only. Replaying all changes rebuilds the playbook.
    """

    class ChangeOperation(models.TextChoices):
        ADD = "add"
        UPDATE = "update"
        DELETE = "delete"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project_id = models.UUIDField()
    revision = models.PositiveIntegerField()
    position = models.PositiveSmallIntegerField(default=0)
    operation = models.CharField(max_length=8, choices=ChangeOperation)
    action = models.CharField(max_length=16)
    entry_id = models.UUIDField()
    entry_label = models.CharField(max_length=64)
    # The values of the changed columns. The inverse of a change goes from `after` to
    # `before`.
    before = models.JSONField(default=dict)
    after = models.JSONField(default=dict)
    actor = models.CharField(max_length=200)
    agent_id = models.CharField(max_length=255, blank=True)
    reason = models.CharField(max_length=1000, blank=True)
    related_memory_id = models.UUIDField(null=True)
    delta_id = models.UUIDField(null=True)
    run_id = models.UUIDField(null=True)
    reverts_id = models.UUIDField(null=True)
    request_id = models.CharField(max_length=64, blank=True)
    changed_at = models.DateTimeField()

    objects = PlaybookChangeQuerySet.as_manager()

    class Meta:
        ordering = ["-revision", "-position"]
        constraints = [
            models.UniqueConstraint(
                fields=["project_id", "revision", "position"],
                name="change_once_per_revision",
            ),
            models.CheckConstraint(
                condition=models.Q(operation__in=["add", "update", "delete"]),
                name="change_operation_known",
            ),
        ]
        indexes = [
            models.Index(fields=["entry_id", "-id"], name="change_entry_newest"),
            models.Index(fields=["project_id", "-id"], name="change_project_newest"),
            models.Index(fields=["run_id"], name="change_run"),
            models.Index(
                fields=["delta_id"],
                condition=models.Q(delta_id__isnull=False),
                name="change_delta",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.entry_label} at {self.revision}"

    @property
    def changed_by(self) -> str:
        return self.actor

    @property
    def delta(self) -> dict[str, Any]:
        return {"before": self.before, "after": self.after}


class Exposure(models.Model):
    """An entry that an agent got, in which call, and how the agent then used it.

    `run_id` and `used_as` are empty until the agent's next finished task is credited with
    the exposure. The other uses are read from the calls of that task.
    """

    class ExposureSource(models.TextChoices):
        RENDER = "render"
        CONTEXT = "context"
        REPORTED = "reported"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT)
    entry = models.ForeignKey(
        PlaybookEntry,
        on_delete=models.CASCADE,
        related_name="exposures",
        db_index=False,
    )
    run_id = models.UUIDField(null=True, blank=True)
    agent_id = models.CharField(max_length=255, blank=True)
    key_id = models.UUIDField(null=True, blank=True)
    source = models.CharField(
        max_length=8, choices=ExposureSource, default=ExposureSource.REPORTED
    )
    # Cosine between the entry and the task; None if no task was named.
    relevance = models.FloatField(null=True, blank=True)
    was_cited = models.BooleanField(default=False)
    used_as = models.CharField(
        max_length=8, choices=GivenUse, blank=True, default="", db_default=""
    )
    # The request that gave the entry to the agent.
    request_id = models.CharField(max_length=64, blank=True, default="", db_default="")
    # The digest of the session that was given the entry, or from which it was withheld
    # (`playbook.reading.withholding`).
    session = models.CharField(max_length=32, blank=True, default="", db_default="")
    is_withheld = models.BooleanField(default=False, db_default=False)
    at = models.DateTimeField(auto_now_add=True)

    objects = ExposureQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["run_id", "entry"], name="exposure_once_per_run"
            ),
            models.CheckConstraint(
                condition=models.Q(source__in=["render", "context", "reported"]),
                name="exposure_source_known",
            ),
        ]
        indexes = [
            models.Index(
                fields=["project", "agent_id", "-id"],
                condition=models.Q(run_id=None),
                name="exposure_uncredited",
            ),
            models.Index(fields=["entry", "-at"], name="exposure_entry_newest"),
            models.Index(
                fields=["project", "at"],
                condition=~models.Q(session=""),
                name="exposure_of_session",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.entry_id} at {self.at:%Y-%m-%d}"
