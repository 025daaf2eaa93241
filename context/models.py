from __future__ import annotations

from django.db import models

from common.ids import uuid7
from context.queries import DigestConfigQuerySet
from projects.models import Project


class DigestConfig(models.Model):
    """The digest settings of a project, or of one of its agents."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, db_index=False)
    # An empty id means that the settings are for every agent of the project.
    agent_id = models.CharField(max_length=255, blank=True)
    # Only the settings that differ from the defaults in `digest.digest_options`.
    config = models.JSONField(default=dict, blank=True)
    version = models.PositiveIntegerField(default=1)
    updated_by = models.CharField(max_length=200, blank=True)
    updated_at = models.DateTimeField(auto_now=True)

    objects = DigestConfigQuerySet.as_manager()

    class Meta:
        verbose_name = "digest configuration"
        ordering = ["project_id", "agent_id"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "agent_id"], name="digest_config_once_per_agent"
            )
        ]

    def __str__(self) -> str:
        return self.agent_id or "every agent"
