"""Write the sessions and agent memories of a project as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from django.db import transaction

from common.api.serializers import represent
from common.caller import Caller, Role
from conversations.agent_memory import changelog
from conversations.agent_memory.pair import MemoryPair
from conversations.exchange.lines import FORMAT, LINES, VERSION
from conversations.models import (
    AgentMemory,
    AgentMemoryChange,
    Invocation,
    MemorySwitch,
    Message,
    Session,
    Summary,
)
from conversations.queries import MAX_PAGE, read_pages
from conversations.sessions.lookup import lock_session
from projects.models import Project


def export_lines(project: Project, caller: Caller) -> Iterator[str]:
    """Yield the lines of an export, for an owner of the project.

    Appends to a session wait while the session is written.
    """
    caller.require(Role.OWNER, project.pk)
    sessions = agent_memories = 0
    yield _line("header", {"format": FORMAT, "version": VERSION})
    ids = Session.objects.visible_to(caller, project).order_by("pk")
    for pk in ids.values_list("pk", flat=True).iterator(chunk_size=MAX_PAGE):
        with transaction.atomic():
            if session := Session.objects.filter(pk=pk).first():
                sessions += 1
                yield from _session_lines(lock_session(session))
    for pair in _pairs(project, caller):
        agent_memories += 1
        yield from _pair_lines(pair)
    for switch in MemorySwitch.objects.visible_to(caller, project).order_by("user_id"):
        yield _line("memory_switch", switch)
    yield _line("end", {"sessions": sessions, "agent_memories": agent_memories})


def _session_lines(session: Session) -> Iterator[str]:
    summaries = list(Summary.objects.light().filter(session=session).order_by("pk"))
    names = {summary.pk: summary.summary_id for summary in summaries}
    invocations = Invocation.objects.filter(session=session).order_by("seq")
    session.summary_count = len(summaries)  # type: ignore[attr-defined]  # for its line
    session.invocation_count = invocations.count()  # type: ignore[attr-defined]  # as above
    yield _line("session", session)
    for summary in summaries:
        summary.parent_name = names.get(summary.parent_id)
        yield _line("summary", summary)
    rows = Message.objects.light().filter(session=session)
    for page in read_pages(rows, "seq", MAX_PAGE):
        for message in page:
            message.leaf_name = names.get(message.leaf_id)
            yield _line("message", message)
    for invocation in invocations.iterator(chunk_size=MAX_PAGE):
        yield _line("invocation", invocation)


def _pairs(project: Project, caller: Caller) -> Iterator[MemoryPair]:
    """Yield the agents and users that have notes or a changelog."""
    found: set[tuple[str, str]] = set()
    for model in (AgentMemory, AgentMemoryChange):
        rows = model.objects.visible_to(caller, project).order_by()
        found |= set(rows.values_list("user_id", "agent_id").distinct())
    for user_id, agent_id in sorted(found):
        yield MemoryPair(project, user_id, agent_id)


def _pair_lines(pair: MemoryPair) -> Iterator[str]:
    with transaction.atomic():
        rows = AgentMemory.objects.select_for_update(no_key=True)
        memory = rows.filter(**pair.columns).first() or pair.find()
        changes = changelog.changes_of(pair).order_by("pk")
        memory.change_count = changes.count()  # type: ignore[union-attr]  # for its line
        yield _line("agent_memory", memory)
        for change in changes.iterator(chunk_size=MAX_PAGE):
            yield _line("change", change)


def _line(kind: str, value: Any) -> str:
    fields = {"type": kind, **represent(LINES[kind], value)}
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
