"""The playbook as an agent is given it: whole lines, under a token budget."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from common.caller import Caller, Role
from inference import tokens
from playbook import reading
from playbook.models import Playbook, PlaybookEntry
from projects.models import Project


@dataclass(frozen=True)
class Rendered:
    """`left_out` counts live entries that the budget had no room for."""

    text: str
    entries: list[PlaybookEntry]
    revision: int
    tokens: int
    budget: int
    left_out: int
    notes: tuple[str, ...] = ()


def render(
    project: Project,
    caller: Caller,
    *,
    task: str = "",
    budget: int | None = None,
) -> Rendered:
    """Fit the live playbook into a budget of tokens; pending text is not in it.

    Pinned entries come first, then relevance to the task, confidence, freshness, and
    at last the label, so that identical input gives identical bytes. A line that does
    not fit is passed over for shorter ones further down; lines are never cut.
    """
    caller.require(Role.VIEWER, project.pk)
    limit = budget or project.options.budgets.render_tokens
    live = PlaybookEntry.objects.visible_to(caller).filter(project=project).current()
    relevance: Mapping[uuid.UUID, float] = {}
    notes: tuple[str, ...] = ()
    if task.strip():
        ranked = reading.rank(project, live, task)
        relevance = {hit.id: hit.score for hit in ranked.hits}
        notes = ranked.notes
    ordered = in_order(list(live.light()), relevance)
    taken = fitting(ordered, limit)
    text = "".join(f"{entry.line}\n" for entry in taken)
    playbook = Playbook.objects.visible_to(caller).filter(project=project).first()
    return Rendered(
        text=text,
        entries=taken,
        revision=playbook.revision if playbook else 0,
        tokens=tokens.estimate(text),
        budget=limit,
        left_out=len(ordered) - len(taken),
        notes=notes,
    )


def in_order(
    entries: Sequence[PlaybookEntry], relevance: Mapping[uuid.UUID, float]
) -> list[PlaybookEntry]:
    """What matters most first; every tie is broken by the label, which is unique."""

    def key(entry: PlaybookEntry) -> tuple[object, ...]:
        confirmed = max(entry.updated_at, entry.verified_at or entry.updated_at)
        return (
            not entry.pinned,
            -relevance.get(entry.pk, 0.0),
            -entry.priority,
            -entry.confidence,
            -confirmed.timestamp(),
            entry.label,
        )

    return sorted(entries, key=key)


def fitting(entries: Sequence[PlaybookEntry], budget: int) -> list[PlaybookEntry]:
    """The entries whose lines fit together; the estimate is of their joined bytes."""
    room = budget * tokens.BYTES_PER_TOKEN
    taken = []
    for entry in entries:
        size = len(entry.line.encode()) + 1
        if size <= room:
            taken.append(entry)
            room -= size
    return taken
