from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db import models
from django.utils import timezone

from common.caller import Caller, Role
from common.ids import uuid7
from projects.options import ProjectOptions


class Organization(models.Model):
    """A group of projects that may share memories of scope `org`."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    slug = models.SlugField(max_length=64, unique=True)
    name = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.slug


class ProjectQuerySet(models.QuerySet["Project"]):
    def live(self) -> ProjectQuerySet:
        return self.filter(delete_after=None)

    def visible_to(self, caller: Caller) -> ProjectQuerySet:
        """Return live projects in which the caller has a role; see `is_visible_to`."""
        if caller.everywhere:
            return self.live()
        return self.live().filter(pk__in=caller.roles)

    def in_grace(self) -> ProjectQuerySet:
        """Return deleted projects that can be restored."""
        return self.filter(delete_after__gt=timezone.now())

    def past_grace(self) -> ProjectQuerySet:
        """Return deleted projects after their grace period: a job deletes their rows."""
        return self.filter(delete_after__lte=timezone.now())

    def deleted_for(self, caller: Caller) -> ProjectQuerySet:
        """Return deleted projects that the caller owns."""
        deleted = self.filter(delete_after__isnull=False)
        if caller.everywhere == Role.OWNER:
            return deleted
        owned = [pk for pk, role in caller.roles.items() if role == Role.OWNER]
        return deleted.filter(pk__in=owned)


class Project(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT)
    name = models.CharField(max_length=200, unique=True)
    description = models.TextField(blank=True, max_length=5000)
    repository_url = models.CharField(max_length=500, blank=True)
    current_branch = models.CharField(max_length=255, blank=True)
    settings = models.JSONField(default=dict, blank=True)

    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    version = models.PositiveIntegerField(default=1)
    # Set on deletion: the project is hidden, and can be restored until this time.
    delete_after = models.DateTimeField(null=True, blank=True)

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=~models.Q(name=""), name="project_name_not_empty"
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def options(self) -> ProjectOptions:
        """Return the settings with every default filled in."""
        return ProjectOptions.model_validate(self.settings)

    def is_visible_to(self, caller: Caller) -> bool:
        """Return whether `visible_to` would return this row."""
        return self.delete_after is None and caller.role_in(self.pk) is not None

    @property
    def is_past_grace(self) -> bool:
        """Return whether `past_grace` would return this row."""
        return self.delete_after is not None and self.delete_after <= timezone.now()

    def hide(self) -> None:
        days = timedelta(days=settings.PROJECT_GRACE_DAYS)
        self.delete_after = timezone.now() + days


class Membership(models.Model):
    """The role of a person in a project."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    project = models.ForeignKey(
        Project, on_delete=models.CASCADE, related_name="memberships", db_index=False
    )
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships"
    )
    role = models.PositiveSmallIntegerField(choices=Role, default=Role.VIEWER)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["project_id", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "account"], name="membership_once_per_project"
            ),
            models.CheckConstraint(
                condition=models.Q(role__gte=1, role__lte=4),
                name="membership_role_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.account} is {Role(self.role).label} of {self.project}"
