"""Teach from a request, by the rules alone."""

from __future__ import annotations

from ace.lessons import from_rules
from ace.task import task as tasks
from ace.task import task_outcome


def teach(phrases=(), **request):
    """Return the lessons of a task; its goal is "g" unless the request names one."""
    task = tasks.parse({"goal": "g", **request})
    lessons = from_rules.teach(task, task_outcome.resolve(task), phrases)
    for lesson in lessons:
        for quote in lesson.quotes:
            assert task.text(quote.field)[quote.start : quote.end] == quote.quote
    return lessons
