from __future__ import annotations

import uuid
from datetime import datetime
from typing import Self

from django.db import models

from common.caller import Caller
from common.ids import uuid7


class ModelCallQuerySet(models.QuerySet["ModelCall"]):
    def since(self, moment: datetime) -> Self:
        """Return the calls since a time.

        The query also filters by id. Ids begin with the time, so the primary key serves a
        query for all projects.
        """
        first = uuid.UUID(int=int(moment.timestamp() * 1000) << 80)
        return self.filter(pk__gte=first, at__gte=moment)

    def visible_to(self, caller: Caller) -> Self:
        return self if caller.everywhere else self.filter(project_id__in=caller.roles)


class ModelCall(models.Model):
    """One call of a language model: what it cost and how it ended, not what it read.

    Plain ids instead of foreign keys, because this app knows no other app.
    """

    class Outcome(models.TextChoices):
        ANSWERED = "answered"
        INVALID = "invalid"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project_id = models.UUIDField(null=True, blank=True)
    run_id = models.UUIDField(null=True, blank=True)
    purpose = models.CharField(max_length=40)
    prompt_version = models.CharField(max_length=40, blank=True)
    model = models.CharField(max_length=300)
    outcome = models.CharField(max_length=16, choices=Outcome)
    error = models.CharField(max_length=500, blank=True)
    attempt = models.PositiveSmallIntegerField(default=1)
    prompt_tokens = models.PositiveIntegerField(default=0)
    answer_tokens = models.PositiveIntegerField(default=0)
    # The cost has the same currency as LANGUAGE_PRICE_IN and LANGUAGE_PRICE_OUT.
    cost = models.DecimalField(max_digits=12, decimal_places=6, default=0)
    took_ms = models.PositiveIntegerField(default=0)
    at = models.DateTimeField(auto_now_add=True)

    objects = ModelCallQuerySet.as_manager()

    class Meta:
        verbose_name = "model call"
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(outcome__in=["answered", "invalid", "failed"]),
                name="model_call_outcome_known",
            )
        ]
        indexes = [
            models.Index(fields=["project_id", "at"], name="model_call_project_day")
        ]

    def __str__(self) -> str:
        return f"{self.purpose} by {self.model}: {self.outcome}"


class ActiveModel(models.Model):
    """The embedding model that searches use, and how to reach it; the table has one row.

    `choice` is an `embedder.EmbeddingChoice`, without its key.
    """

    ONLY = 1

    id = models.PositiveSmallIntegerField(primary_key=True, default=ONLY)
    name = models.CharField(max_length=300)
    choice = models.JSONField()
    # A `calibration.Scale`; null for the bundled model, and until a job has measured it.
    scale = models.JSONField(null=True, blank=True)
    since = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(id=1), name="active_model_only_one"
            )
        ]

    def __str__(self) -> str:
        return self.name
