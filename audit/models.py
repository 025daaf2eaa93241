from __future__ import annotations

from django.db import models

from common.caller import Caller, Role
from common.ids import uuid7


class AuditQuerySet(models.QuerySet["AuditEvent"]):
    def visible_to(self, caller: Caller) -> AuditQuerySet:
        """Return events of projects that the caller owns, and events of the caller's own key."""
        if caller.everywhere == Role.OWNER and not caller.user_id:
            return self
        own = models.Q(key_id=caller.key_id) if caller.key_id else models.Q(pk=None)
        if caller.user_id:
            return self.filter(own)
        owned = [pk for pk, role in caller.roles.items() if role == Role.OWNER]
        return self.filter(own | models.Q(project_id__in=owned))


class AuditEvent(models.Model):
    """Who did what to which row, and when.

    An event has no foreign keys, because the event outlives the rows that it names.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    at = models.DateTimeField(auto_now_add=True)
    verb = models.CharField(max_length=64)
    actor = models.CharField(max_length=200)
    key_id = models.UUIDField(null=True)
    account_id = models.BigIntegerField(null=True)
    agent_id = models.CharField(max_length=255, blank=True)

    project_id = models.UUIDField(null=True)
    object_type = models.CharField(max_length=64, blank=True)
    object_id = models.CharField(max_length=255, blank=True)
    before_hash = models.CharField(max_length=64, blank=True)
    after_hash = models.CharField(max_length=64, blank=True)
    detail = models.JSONField(default=dict)

    request_id = models.CharField(max_length=64, blank=True)
    address = models.CharField(max_length=64, blank=True)

    objects = AuditQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["project_id", "-id"], name="audit_project_newest"),
            models.Index(fields=["object_id", "-id"], name="audit_object_newest"),
            models.Index(fields=["key_id", "-id"], name="audit_key_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.actor} {self.verb} {self.object_type} {self.object_id}"
