"""API keys, and the stored answers of idempotent requests."""

from __future__ import annotations

import hashlib
import secrets
import uuid
from datetime import datetime
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models.functions import Least, Now
from django.utils import timezone

from common.caller import Caller, Role
from common.ids import uuid7
from projects.models import Project

SECRET_PREFIX = "am_"
VISIBLE_CHARACTERS = 8  # the part of a secret that is shown to distinguish keys


def hash_secret(secret: str) -> str:
    """Hash a secret with SHA-256; a slow hash adds no safety to 256 random bits."""
    return hashlib.sha256(secret.encode()).hexdigest()


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    def usable(self, at: datetime | None = None) -> ApiKeyQuerySet:
        now = at or timezone.now()
        return self.filter(
            models.Q(expires_at=None) | models.Q(expires_at__gt=now),
            models.Q(revoked_at=None) | models.Q(revoked_at__gt=now),
            models.Q(account=None) | models.Q(account__is_active=True),
        )

    def of_same_line(self, key_id: uuid.UUID | None) -> ApiKeyQuerySet:
        """Return a key, and the keys before and after it in its line of rotations."""
        lines = self.filter(pk__in=[key_id]).values("line_id")
        return self.filter(line_id__in=lines)

    def caller_names(self) -> list[str]:
        """Return the names of the callers with these keys, as history and audit have them."""
        return [f"key:{prefix}" for prefix in self.values_list("prefix", flat=True)]

    def visible_to(self, caller: Caller) -> ApiKeyQuerySet:
        """Return keys of projects that the caller owns, and the caller's own key.

        A caller that is bound to an agent or a user sees only keys that are bound to the
        same agent or user.
        """
        bounds = {"agent_id": caller.agent_id, "user_id": caller.user_id}
        rows = self.filter(**{name: value for name, value in bounds.items() if value})
        if caller.everywhere == Role.OWNER:
            return rows
        owned = [pk for pk, role in caller.roles.items() if role == Role.OWNER]
        strangers = ApiKey.projects.through.objects.exclude(project_id__in=owned)
        mine = models.Q(pk=caller.key_id) if caller.key_id else models.Q(pk=None)
        return rows.filter(
            mine
            | (
                models.Q(everywhere=False, projects__in=owned)
                & ~models.Q(pk__in=strangers.values("apikey_id"))
            )
        ).distinct()


# PostgreSQL's LEAST ignores null. All accounts share this one object. A deletion updates
# each pair of field and value once, in the order in which the pairs were added.
NOW_OR_EARLIER = Least(models.F("revoked_at"), Now())


def end_keys(collector: Any, field: Any, keys: Any, using: str) -> None:
    """An `on_delete` function: revoke the keys of an account, however the account is deleted.

    The page that confirms a deletion also calls this function, so the function writes no
    audit rows. `keys.revoke_all` writes the audit rows.
    """
    # This update comes before SET_NULL, because it finds the keys by their account.
    collector.add_field_update(
        ApiKey._meta.get_field("revoked_at"), NOW_OR_EARLIER, keys
    )
    models.SET_NULL(collector, field, keys, using)


end_keys.lazy_sub_objs = True  # type: ignore[attr-defined]  # as SET_NULL's


class ApiKey(models.Model):
    """The key of an agent; only the hash of its secret is stored."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=200)
    prefix = models.CharField(max_length=16)
    hash = models.CharField(max_length=64, unique=True, editable=False)
    role = models.PositiveSmallIntegerField(choices=Role, default=Role.WRITER)

    # A key has a list of projects, or it is explicitly for all projects. An empty list
    # therefore never gives all projects by accident.
    everywhere = models.BooleanField(default=False)
    projects = models.ManyToManyField(Project, blank=True, related_name="api_keys")
    agent_id = models.CharField(max_length=255, blank=True)
    user_id = models.CharField(max_length=255, blank=True)

    # Whether the project believes this key's reports of tests and of other facts. The
    # words of other keys are the words of an agent.
    may_attest = models.BooleanField(default=False, db_default=False)
    # Whether the key speaks for every user, as the server of an application does.
    acts_for_users = models.BooleanField(default=False, db_default=False)

    # The person who got the secret; the key is unusable while they are inactive.
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=end_keys
    )
    created_by = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    replaced_by = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL
    )
    # The first key of the line of rotations; the id of the key itself if it replaced none.
    line_id = models.UUIDField(editable=False)
    # The line of the key that issued this one, or of that key's issuer, back to a key that
    # a person or the operator issued; the line of the key itself if no key issued it.
    root_line_id = models.UUIDField(editable=False)

    objects = ApiKeyQuerySet.as_manager()

    class Meta:
        verbose_name = "API key"
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(role__gte=1, role__lte=4), name="key_role_known"
            )
        ]
        indexes = [models.Index(fields=["line_id"], name="key_line")]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @classmethod
    def new(cls, **fields: object) -> tuple[Self, str]:
        """Return an unsaved key and its secret, which is stored nowhere.

        Without a `line_id`, the key begins a line of its own. Without a `root_line_id`, no
        key issued it.
        """
        secret = SECRET_PREFIX + secrets.token_urlsafe(32)
        prefix = secret[: len(SECRET_PREFIX) + VISIBLE_CHARACTERS]
        key = cls(prefix=prefix, hash=hash_secret(secret), **fields)
        key.line_id = key.line_id or key.pk
        key.root_line_id = key.root_line_id or key.line_id
        return key, secret

    @property
    def is_usable(self) -> bool:
        return not self.has_ended and (self.account is None or self.account.is_active)

    @property
    def has_ended(self) -> bool:
        """Return whether the key has expired or is revoked."""
        now = timezone.now()
        ends = (self.expires_at, self.revoked_at)
        return any(end is not None and end <= now for end in ends)


class IdempotencyKey(models.Model):
    """The stored answer of a write; a client that repeats the write gets this answer."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    actor = models.CharField(max_length=200)
    route = models.CharField(max_length=200)
    project_id = models.UUIDField(null=True)
    key = models.CharField(max_length=255)
    body_hash = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True)
    answer = models.JSONField(null=True)
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["actor", "route", "project_id", "key"],
                nulls_distinct=False,
                name="idempotency_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.actor} {self.route} {self.key}"
