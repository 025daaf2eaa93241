from __future__ import annotations

from django.db import models

from common.ids import uuid7
from mcp_server.queries import HookCountQuerySet
from playbook.queries import ProjectScopedQuerySet
from projects.models import Project


class HookCount(models.Model):
    """How many events of one kind a harness has sent with a key, and when the last came."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, db_index=False)
    key_id = models.UUIDField()
    agent_id = models.CharField(max_length=255, blank=True)
    harness = models.CharField(max_length=16)
    # A value of `mcp_server.hooks.hook_event.EventKind`.
    event = models.CharField(max_length=16)
    events = models.PositiveBigIntegerField(default=1)
    last_at = models.DateTimeField()

    objects = HookCountQuerySet.as_manager()

    class Meta:
        ordering = ["-last_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "key_id", "harness", "event"],
                name="hook_count_once_per_event",
            )
        ]

    def __str__(self) -> str:
        return f"{self.harness}: {self.event}"


class Push(models.Model):
    """A text that a hook gave a session unasked, and what the text was about.

    Only digests and ids are stored. `is_in_context` ends when the session loses what it was
    given: it may then be given the text once more.
    """

    class PushKind(models.TextChoices):
        CARD = "card"
        RULE = "rule"
        MEMORY = "memory"
        FIX = "fix"
        NOTICE = "notice"
        DECISION = "decision"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, db_index=False)
    key_id = models.UUIDField()
    # The digests of the harness's id of the session, and of the subagent in it, if any.
    session = models.CharField(max_length=32)
    subagent = models.CharField(max_length=32, blank=True)
    event = models.CharField(max_length=16)
    kind = models.CharField(max_length=8, choices=PushKind)
    # The id of a rule, memory or proposal, or the digest of a failure's signature.
    subject = models.CharField(max_length=64)
    is_in_context = models.BooleanField(default=True)
    at = models.DateTimeField(auto_now_add=True)

    objects = ProjectScopedQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "pushes"
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "key_id", "session", "subagent", "kind", "subject"],
                condition=models.Q(is_in_context=True),
                name="push_once_per_session",
            )
        ]
        indexes = [models.Index(fields=["project", "at"], name="push_project_at")]

    def __str__(self) -> str:
        return f"{self.kind} at {self.at:%Y-%m-%d}"
