"""The append-only changelog of agent memories, and reading their texts at a version."""

from __future__ import annotations

from django.utils import timezone

from common.caller import Caller, Role
from common.db import write
from common.erasure import redaction
from conversations import sources
from conversations.agent_memory.pair import MemoryPair
from conversations.models import AgentMemory, AgentMemoryChange, Session
from conversations.queries import OwnedQuerySet
from conversations.sessions.record import add_change

ChangeScope = AgentMemoryChange.ChangeScope
ChangeAction = AgentMemoryChange.ChangeAction
MAX_CHANGES = 1_000  # in one answer
OWN_SCOPES = (ChangeScope.SKILL, ChangeScope.COMPACTION)  # of callers' own entries


def changes_of(pair: MemoryPair) -> OwnedQuerySet:
    """Return the changes of a pair, the newest first."""
    rows: OwnedQuerySet = AgentMemoryChange.objects.filter(
        project_id=pair.project.pk, user_id=pair.user_id, agent_id=pair.agent_id
    )
    return rows.order_by("-id")


def text_at(pair: MemoryPair, scope: str, version: int) -> str:
    """Return the text of a scope as it was at a version; never the present text.

    It is the text after the latest change with a version of at most `version`, and "" if
    there is none.
    """
    rows = changes_of(pair).filter(scope=scope, version_after__lte=version)
    # Purges of before masked versions of users who live on.
    rows = rows.exclude(after_text__startswith=redaction.MARK)
    ordered = rows.order_by("-version_after")
    return ordered.values_list("after_text", flat=True).first() or ""


def record_change(
    memory: AgentMemory,
    scope: str,
    before: str,
    after: str,
    *,
    source: str,
    session: Session | None,
    caller: Caller,
    action: str = "",
) -> AgentMemoryChange:
    """Raise the version of a locked memory and add the row of the change."""
    memory.version += 1
    memory.save()
    row = add_change(
        memory,
        session,
        caller,
        scope=scope,
        action=action or _action_of(before, after),
        source=source,
        version_before=memory.version - 1,
        version_after=memory.version,
        before_text=before,
        after_text=after,
    )
    if session is not None and source != "reflect":
        _advance(session, memory.version)
    return row


def _action_of(before: str, after: str) -> str:
    if not after:
        return ChangeAction.DELETE
    return ChangeAction.UPDATE if before else ChangeAction.CREATE


def _advance(session: Session, version: int) -> None:
    """Let a session that wrote see what it wrote."""
    rows = Session.objects.filter(pk=session.pk)
    rows.update(snapshot_version=version, snapshot_at=timezone.now())


@write
def add_entry(
    pair: MemoryPair,
    scope: str,
    action: str,
    caller: Caller,
    *,
    before: str = "",
    after: str = "",
    source: str = "agent",
    session: Session | None = None,
) -> AgentMemoryChange:
    """Add a caller's own entry, of a skill or of a compaction; it raises no version."""
    caller.require(Role.WRITER, pair.project.pk)
    sources.require_source(source, pair.project.pk, pair.user_id, caller)
    return add_change(
        pair,
        session,
        caller,
        scope=scope,
        action=action,
        source=source,
        before_text=before,
        after_text=after,
    )
