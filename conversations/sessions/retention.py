"""Archive idle sessions and purge archived ones, as the project's settings say."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from audit import trail
from common.caller import SYSTEM
from common.db import write
from conversations.models import Session
from memories.retention import erase
from memories.scopes import Scope
from projects.models import Project

MAX_PER_PASS = 50  # sessions of a project that one pass purges
REASON = "archived longer than conversations.purge_after_days"


@write
def archive_idle(project: Project) -> int:
    """Archive the sessions that were idle for too long; return their number."""
    days = project.options.conversations.archive_after_days
    if days is None:
        return 0
    now = timezone.now()
    idle = Session.objects.filter(
        project=project, archived_at=None, last_active__lt=now - timedelta(days=days)
    )
    count = idle.update(archived_at=now)
    if count:
        trail.record(
            SYSTEM,
            "session.archive",
            project_id=project.pk,
            object_type="session",
            sessions=count,
        )
    return count


def purge_archived(project: Project) -> int:
    """Purge sessions that were archived for too long, with the memories of their scopes."""
    days = project.options.conversations.purge_after_days
    if days is None:
        return 0
    before = timezone.now() - timedelta(days=days)
    rows = Session.objects.filter(project=project, archived_at__lt=before)
    old = list(rows.order_by("archived_at")[:MAX_PER_PASS])
    for session in old:
        scope = Scope("session", session.key, user=session.user_id)
        erase.purge(project, {"scope": scope.to_dict()}, SYSTEM, reason=REASON)
    return len(old)
