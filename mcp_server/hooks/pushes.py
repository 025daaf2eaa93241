"""Give each text once per session, and remember what was given."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import QuerySet
from django.utils import timezone

from common import db
from common.caller import Caller
from common.ids import uuid7
from mcp_server.hooks.given_line import GivenLine, Subject
from mcp_server.hooks.hook_event import HookEvent
from mcp_server.models import Push
from projects.models import Project

RETENTION = timedelta(days=400)  # longer than any session lasts
# What a session loses when its context is compacted or cleared. A fix stays said.
LOST = (
    Push.PushKind.CARD,
    Push.PushKind.RULE,
    Push.PushKind.MEMORY,
    Push.PushKind.DECISION,
)


@dataclass(frozen=True)
class Place:
    """The digests of a session and of the subagent in it: who has a text in its context."""

    session: str
    subagent: str


def find_place(event: HookEvent) -> Place:
    """Return the place of an event; an event without a session has one of its own."""
    return Place(
        digest(event.session or str(uuid7())),
        digest(event.subagent) if event.subagent else "",
    )


def digest(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def find_given(project: Project, event: HookEvent, caller: Caller) -> set[Subject]:
    """Return the kinds and subjects of what the session has already."""
    if not (event.session and caller.key_id):
        return set()
    rows = _rows(project, event, caller)
    return set(rows.values_list("kind", "subject"))


def _rows(project: Project, event: HookEvent, caller: Caller) -> QuerySet[Push]:
    place = find_place(event)
    return Push.objects.filter(
        project=project,
        key_id__in=[caller.key_id],
        session=place.session,
        subagent=place.subagent,
        is_in_context=True,
    )


@db.write
def record(
    project: Project, event: HookEvent, caller: Caller, lines: Sequence[GivenLine]
) -> list[GivenLine]:
    """Record the lines as given, and return those that the session did not have yet.

    Of two requests that give one session the same line, one records it. Without a key the
    caller is a person, and nothing is recorded.
    """
    if caller.key_id is None:
        return list(lines)
    place = find_place(event)
    rows = [
        Push(
            project=project,
            key_id=caller.key_id,
            session=place.session,
            subagent=place.subagent,
            event=event.kind,
            kind=line.kind,
            subject=line.subject,
        )
        for line in lines
    ]
    new = db.insert_new(rows)
    return [line for line, row in zip(lines, rows, strict=True) if row.pk in new]


@db.write
def forget(project: Project, event: HookEvent, caller: Caller) -> None:
    """Note that the session has lost what it was given at its start and at its prompts."""
    _rows(project, event, caller).filter(kind__in=LOST).update(is_in_context=False)


def delete_old() -> None:
    db.delete_in_batches(Push.objects.filter(at__lt=timezone.now() - RETENTION))
