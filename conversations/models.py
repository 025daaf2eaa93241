"""Models of sessions: messages, summaries, agent memory, and their vectors and changes."""

from __future__ import annotations

import secrets

from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.utils import timezone
from pgvector.django import HalfVectorField

from common.ids import uuid7
from common.text.quote import visible_line
from conversations.queries import (
    InSessionQuerySet,
    MessageQuerySet,
    OwnedQuerySet,
    SummaryQuerySet,
    SwitchQuerySet,
)
from inference.embedding.vector import StoredVector
from projects.models import Project
from search.columns import TermsField, lexeme_gin_index, terms_of

MAX_KEY = 200  # characters of a session's key


class Session(models.Model):
    """A conversation of one user with one agent.

    The counts and sums are those of the messages that are not hidden. They change with the
    messages, under the lock of the session's row, so that no read has to add up messages.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, db_index=False)
    # The caller's own name of the session. It is unique with the user.
    key = models.CharField(max_length=MAX_KEY)
    agent_id = models.CharField(max_length=255)
    # An empty user is anonymous.
    user_id = models.CharField(max_length=255, blank=True)
    # Who began it and wrote to it: `sessions.writers`. It is empty in old rows.
    writers = models.JSONField(
        default=list,
        blank=True,
        db_default=models.Value([], output_field=models.JSONField()),
    )
    channel = models.CharField(max_length=100, blank=True)
    title = models.CharField(max_length=500, blank=True)
    metadata = models.JSONField(default=dict, blank=True)
    token_budget = models.PositiveIntegerField(null=True, blank=True)

    created_at = models.DateTimeField(default=timezone.now)
    last_active = models.DateTimeField(default=timezone.now)
    archived_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    # The seq of the newest message, hidden or not.
    last_seq = models.PositiveIntegerField(default=0)
    message_count = models.PositiveIntegerField(default=0)
    token_count = models.PositiveBigIntegerField(default=0)
    # The tokens of the context: messages without a leaf, and summaries without a parent.
    context_tokens = models.PositiveBigIntegerField(default=0)
    # The version and the moment at which the session's agent memory is frozen.
    snapshot_version = models.PositiveIntegerField(null=True, blank=True)
    snapshot_at = models.DateTimeField(null=True, blank=True)
    # Whether an agent reads memory for this conversation and learns from it.
    has_memory = models.BooleanField(default=True)
    # The seq of the last invocation that was scanned for facts.
    scanned_invocation = models.PositiveIntegerField(default=0)
    # When the conversation was last deleted; a run that began before is hidden too.
    invocations_hidden_at = models.DateTimeField(null=True, blank=True)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "key", "user_id"], name="session_one_per_key"
            )
        ]
        indexes = [
            models.Index(
                fields=["project", "-last_active", "-id"], name="session_newest"
            ),
            models.Index(
                fields=["project", "user_id", "agent_id"], name="session_of_user"
            ),
        ]

    def __str__(self) -> str:
        return visible_line(self.title or self.key)

    def add_up(self) -> None:
        """Set the counts and sums from the rows; the caller saves them."""
        visible = self.messages.visible()
        self.message_count = visible.count()
        self.token_count = visible.sum_tokens()
        roots = self.summaries.without_parent()
        self.context_tokens = visible.without_leaf().sum_tokens() + roots.sum_tokens()

    @property
    def is_archived(self) -> bool:
        return self.archived_at is not None


def new_summary_id() -> str:
    """Return an id that no other summary has: `sum_` and 16 hexadecimal digits."""
    return f"sum_{secrets.token_hex(8)}"


class Summary(models.Model):
    """A summary of neighbouring messages (leaf), or of neighbouring summaries (condensed)."""

    class SummaryKind(models.TextChoices):
        LEAF = "leaf"
        CONDENSED = "condensed"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    summary_id = models.CharField(
        max_length=20, unique=True, default=new_summary_id, editable=False
    )
    session = models.ForeignKey(
        Session, on_delete=models.PROTECT, related_name="summaries", db_index=False
    )
    project_id = models.UUIDField()
    kind = models.CharField(max_length=16, choices=SummaryKind)
    depth = models.PositiveSmallIntegerField(default=0)
    content = models.TextField()
    tokens = models.PositiveIntegerField()
    earliest_at = models.DateTimeField()
    latest_at = models.DateTimeField()
    first_seq = models.PositiveIntegerField()
    last_seq = models.PositiveIntegerField()
    # The number of original messages that the summary covers.
    message_count = models.PositiveIntegerField()
    # The name of the summarizer, and of its language model if it used one.
    summarizer = models.CharField(max_length=50)
    model = models.CharField(max_length=300, blank=True)
    parent = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="children",
    )
    created_at = models.DateTimeField(default=timezone.now)

    content_tsv = SearchVectorField(editable=False)
    content_terms = models.GeneratedField(
        expression=terms_of("content_tsv"),
        output_field=TermsField(),
        db_persist=True,
    )

    objects = SummaryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "summaries"
        ordering = ["session_id", "first_seq"]
        indexes = [
            lexeme_gin_index("summary_lexemes"),
            models.Index(fields=["session", "first_seq"], name="summary_in_session"),
            models.Index(
                fields=["session", "-last_seq"],
                condition=models.Q(parent=None),
                name="summary_in_context",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.summary_id} of {self.first_seq} to {self.last_seq}"


class Message(models.Model):
    """One message of a session, in the product's own shape; see `conversations.formats`."""

    class MessageRole(models.TextChoices):
        SYSTEM = "system"
        USER = "user"
        ASSISTANT = "assistant"
        TOOL = "tool"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    session = models.ForeignKey(
        Session, on_delete=models.PROTECT, related_name="messages", db_index=False
    )
    project_id = models.UUIDField()
    seq = models.PositiveIntegerField()
    role = models.CharField(max_length=16, choices=MessageRole)
    parts = models.JSONField(default=list)
    # The plain text of the parts.
    text = models.TextField(blank=True)
    # Whether a user or the assistant says something in words, which are embedded.
    has_words = models.BooleanField(default=False)
    tokens = models.PositiveIntegerField()
    # The caller's id of the message, so that an append can be repeated.
    external_id = models.CharField(max_length=255, blank=True)
    metadata = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    # An undo hides messages and destroys nothing.
    hidden_at = models.DateTimeField(null=True, blank=True)
    redacted_at = models.DateTimeField(null=True, blank=True)
    leaf = models.ForeignKey(
        Summary,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="messages",
        db_index=False,
    )

    content_tsv = SearchVectorField(editable=False)
    content_terms = models.GeneratedField(
        expression=terms_of("content_tsv"),
        output_field=TermsField(),
        db_persist=True,
    )

    objects = MessageQuerySet.as_manager()

    class Meta:
        ordering = ["session_id", "seq"]
        constraints = [
            models.UniqueConstraint(
                fields=["session", "seq"], name="message_one_per_seq"
            ),
            models.UniqueConstraint(
                fields=["session", "external_id"],
                condition=models.Q(hidden_at=None) & ~models.Q(external_id=""),
                name="message_one_per_external_id",
            ),
            models.CheckConstraint(
                condition=models.Q(role__in=["system", "user", "assistant", "tool"]),
                name="message_role_known",
            ),
        ]
        indexes = [
            lexeme_gin_index("message_lexemes"),
            models.Index(
                fields=["session", "-seq"],
                condition=models.Q(leaf=None, hidden_at=None),
                name="message_in_context",
            ),
            models.Index(
                fields=["leaf", "seq"],
                condition=models.Q(leaf__isnull=False),
                name="message_of_leaf",
            ),
        ]

    def __str__(self) -> str:
        return visible_line(f"{self.seq} {self.role}: {self.text[:80]}")


class Invocation(models.Model):
    """One question to an agent in a conversation: what was asked, done and answered.

    Invocations are read in their order and never searched.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    session = models.ForeignKey(
        Session, on_delete=models.PROTECT, related_name="invocations", db_index=False
    )
    project_id = models.UUIDField()
    seq = models.PositiveIntegerField()
    query = models.TextField()
    summary = models.TextField(blank=True)
    result = models.TextField(blank=True)
    # The run of our own agent that made it; none if a caller reported it.
    run_id = models.UUIDField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    # A deleted conversation gives no context any more; a purge deletes the rows.
    hidden_at = models.DateTimeField(null=True, blank=True)

    objects = InSessionQuerySet.as_manager()

    class Meta:
        ordering = ["session_id", "seq"]
        constraints = [
            models.UniqueConstraint(
                fields=["session", "seq"], name="invocation_one_per_seq"
            ),
            models.UniqueConstraint(
                fields=["run_id"],
                condition=models.Q(run_id__isnull=False),
                name="invocation_one_per_run",
            ),
        ]

    def __str__(self) -> str:
        return visible_line(f"{self.seq}: {self.query[:80]}")


class Transcript(models.Model):
    """How far the file of a session was read that a coding agent writes, and learned from.

    The columns of the sender restore the sender's rights in the job that learns.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    session = models.ForeignKey(
        Session, on_delete=models.PROTECT, related_name="transcripts", db_index=False
    )
    project_id = models.UUIDField()
    format = models.CharField(max_length=32)
    # The bytes of the file that were read, and their SHA-256; empty if it is not known.
    cursor = models.PositiveBigIntegerField(default=0)
    prefix = models.CharField(max_length=64, blank=True)
    # The seq of the session's last message when the last part was stored, and of the last
    # message of a task that was learned from.
    last_seq = models.PositiveIntegerField(default=0)
    learned_seq = models.PositiveIntegerField(default=0)
    # When the last task ended; none while the next part may go on with it.
    ended_at = models.DateTimeField(null=True, blank=True)
    updated_at = models.DateTimeField(default=timezone.now)

    actor = models.CharField(max_length=200)
    key_id = models.UUIDField(null=True, blank=True)
    account_id = models.BigIntegerField(null=True, blank=True)
    agent_id = models.CharField(max_length=255)
    is_attested = models.BooleanField(default=False)

    objects = InSessionQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["session", "format"], name="transcript_one_per_format"
            )
        ]
        indexes = [
            models.Index(
                fields=["project_id", "updated_at"],
                condition=models.Q(ended_at=None),
                name="transcript_open",
            )
        ]

    def __str__(self) -> str:
        return f"{self.format} of {self.session_id}"


class MemorySwitch(models.Model):
    """Whether agents read and write memory for a user; without a row, they do."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, db_index=False)
    user_id = models.CharField(max_length=255, blank=True)
    is_enabled = models.BooleanField(default=True)
    updated_at = models.DateTimeField(auto_now=True)

    objects = SwitchQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "memory switches"
        constraints = [
            models.UniqueConstraint(
                fields=["project", "user_id"], name="memory_switch_one_per_user"
            )
        ]

    def __str__(self) -> str:
        return visible_line(self.user_id or "anonymous")


class MessageVector(StoredVector, models.Model):
    """The vector of one chunk of a message's text, computed by one model."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    message = models.ForeignKey(
        Message, on_delete=models.CASCADE, related_name="vectors", db_index=False
    )
    project_id = models.UUIDField()
    model = models.CharField(max_length=300)
    chunk = models.PositiveSmallIntegerField(default=0)
    embedding = HalfVectorField(editable=False)

    class Meta:
        ordering = ["message_id", "chunk"]
        constraints = [
            models.UniqueConstraint(
                fields=["message", "model", "chunk"], name="message_vector_per_chunk"
            )
        ]
        indexes = [
            models.Index(fields=["project_id", "model"], name="message_vector_model")
        ]

    def __str__(self) -> str:
        return f"{self.message_id} by {self.model}"


class SummaryVector(StoredVector, models.Model):
    """The vector of one chunk of a summary's text, computed by one model."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    summary = models.ForeignKey(
        Summary, on_delete=models.CASCADE, related_name="vectors", db_index=False
    )
    project_id = models.UUIDField()
    model = models.CharField(max_length=300)
    chunk = models.PositiveSmallIntegerField(default=0)
    embedding = HalfVectorField(editable=False)

    class Meta:
        ordering = ["summary_id", "chunk"]
        constraints = [
            models.UniqueConstraint(
                fields=["summary", "model", "chunk"], name="summary_vector_per_chunk"
            )
        ]
        indexes = [
            models.Index(fields=["project_id", "model"], name="summary_vector_model")
        ]

    def __str__(self) -> str:
        return f"{self.summary_id} by {self.model}"


class AgentMemory(models.Model):
    """What an agent keeps about itself and one user: profile, soul and constraints.

    Every write of any of the three raises the one version.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, db_index=False)
    user_id = models.CharField(max_length=255, blank=True)
    agent_id = models.CharField(max_length=255)
    profile = models.TextField(blank=True)
    soul = models.TextField(blank=True)
    # [{id, text, created_at}]
    constraints = models.JSONField(default=list)
    version = models.PositiveIntegerField(default=0)
    updated_at = models.DateTimeField(auto_now=True)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "agent memories"
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "user_id", "agent_id"], name="agent_memory_once"
            )
        ]

    def __str__(self) -> str:
        return visible_line(f"{self.agent_id} and {self.user_id or 'anonymous'}")


class AgentMemoryChange(models.Model):
    """A change of an agent memory, or an entry of the changelog that a caller added.

    Rows are only ever added, and have no foreign keys. Entries of the scopes skill and
    compaction have no versions.
    """

    class ChangeScope(models.TextChoices):
        PROFILE = "profile"
        SOUL = "soul"
        CONSTRAINT = "constraint"
        SKILL = "skill"
        COMPACTION = "compaction"

    class ChangeAction(models.TextChoices):
        CREATE = "create"
        UPDATE = "update"
        DELETE = "delete"
        COMPACT = "compact"

    class ChangeSource(models.TextChoices):
        USER = "user"
        AGENT = "agent"
        REFLECT = "reflect"
        SYSTEM = "system"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project_id = models.UUIDField()
    user_id = models.CharField(max_length=255, blank=True)
    agent_id = models.CharField(max_length=255)
    # The session in which the change was made, by id and by key.
    session_id = models.UUIDField(null=True, blank=True)
    session_key = models.CharField(max_length=MAX_KEY, blank=True)
    scope = models.CharField(max_length=16, choices=ChangeScope)
    action = models.CharField(max_length=16, choices=ChangeAction)
    source = models.CharField(max_length=16, choices=ChangeSource)
    version_before = models.PositiveIntegerField(null=True, blank=True)
    version_after = models.PositiveIntegerField(null=True, blank=True)
    before_text = models.TextField(blank=True)
    after_text = models.TextField(blank=True)
    actor = models.CharField(max_length=200)
    created_at = models.DateTimeField(default=timezone.now)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(
                fields=["project_id", "agent_id", "user_id", "-id"],
                name="agent_memory_change_newest",
            )
        ]

    def __str__(self) -> str:
        return visible_line(f"{self.action} {self.scope} by {self.actor}")
