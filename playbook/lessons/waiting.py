"""Confirm or contradict a lesson of the same person that waits for somebody to decide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace

from common.caller import Caller
from common.db import write
from common.text import plain_text
from playbook.lessons import quotes, taught
from playbook.lessons.lesson import Occasion, Operation, Quote, TaughtLesson
from playbook.models import PlaybookDelta
from projects.models import Project

PREFIX = "waiting-"
MAX_QUOTES = 20  # of one lesson


def name(delta: PlaybookDelta) -> str:
    """Return the name by which a waiting lesson is shown to a model."""
    return f"{PREFIX}{delta.pk.hex[-8:]}"


def find(project: Project, persons: Sequence[str]) -> list[PlaybookDelta]:
    """Return the additions of a person that wait, oldest first."""
    rows = PlaybookDelta.objects.pending().filter(
        project=project, person__in=persons, operation="add"
    )
    return list(rows.exclude(content="").order_by("pk"))


def settle(
    project: Project,
    lessons: Sequence[TaughtLesson],
    occasion: Occasion,
    caller: Caller,
) -> Iterator[TaughtLesson | PlaybookDelta]:
    """Yield the lessons that are left to take, and the waiting ones that others meant.

    What contradicts a waiting lesson and says what holds instead is a lesson of its own.
    """
    named = [each for each in lessons if each.label.startswith(PREFIX)]
    known = find(project, list(caller.own_names)) if named else []
    by_name = {name(delta): delta for delta in known}
    for each in lessons:
        if each not in named:
            yield each
            continue
        if each.operation not in (Operation.CONFIRM, Operation.CONTRADICT):
            yield replace(each, operation=Operation.ADD, label="", version=None)
            continue
        delta = by_name.get(each.label)
        said = quotes.find(each.lesson.quotes, occasion.sources)
        if delta is None or not taught.is_shown(said):
            continue
        _note(delta, each, said, occasion)
        yield delta
        if each.operation == Operation.CONTRADICT and each.lesson.content:
            yield replace(each, operation=Operation.ADD, label="", version=None)


@write
def _note(
    delta: PlaybookDelta,
    taught_lesson: TaughtLesson,
    said: Sequence[Quote],
    occasion: Occasion,
) -> None:
    rows = PlaybookDelta.objects.select_for_update(no_key=True)
    locked = rows.get(pk=delta.pk)
    if str(occasion.id) in locked.payload.get("met_in", ()):
        return
    locked.payload["met_in"] = [*locked.payload.get("met_in", ()), str(occasion.id)]
    if taught_lesson.operation == Operation.CONFIRM:
        found = [*locked.evidence, *(asdict(quote) for quote in said)]
        locked.evidence, locked.seen_again = found[-MAX_QUOTES:], locked.seen_again + 1
    else:
        words = plain_text.clip(said[0].quote, 200)
        locked.served_persons = []
        locked.review_note = f"The same person said otherwise later: {words}"
    locked.version += 1
    locked.save()
    delta.refresh_from_db()
