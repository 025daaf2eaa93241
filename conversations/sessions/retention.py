"""Archive idle sessions and purge archived ones, as the project's settings say."""

from __future__ import annotations

from datetime import datetime, timedelta

import structlog
from django.utils import timezone

from audit import trail
from common import errors
from common.caller import SYSTEM
from common.db import write
from conversations.models import Session
from memories.retention import erase
from memories.scopes import Scope
from projects.models import Project

MAX_PER_PASS = 50  # sessions of a project that one pass purges
REASON = "archived longer than conversations.purge_after_days"

log = structlog.get_logger(__name__)


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
    return sum(_try_purge(project, session, before) for session in old)


def _try_purge(project: Project, session: Session, before: datetime) -> bool:
    """Purge a session; one that something still uses waits for the next pass."""
    try:
        return _purge_if_archived(project, session, before)
    except errors.StateConflict as conflict:
        log.warning("session_not_purged", session=str(session.pk), code=conflict.code)
        return False


@write
def _purge_if_archived(project: Project, session: Session, before: datetime) -> bool:
    """Purge a session at once, unless a message has opened it again meanwhile."""
    locked = Session.objects.select_for_update().filter(pk=session.pk).first()
    if not (locked and locked.archived_at and locked.archived_at < before):
        return False
    scope = Scope("session", locked.key, user=locked.user_id)
    selection = {"scope": scope.to_dict()}
    erase.purge(project, selection, SYSTEM, reason=REASON, at_once=True)
    return True
