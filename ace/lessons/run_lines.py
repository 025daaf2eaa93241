"""Read a finished task, as complete-task takes it, into the lines of its record."""

from __future__ import annotations

from ace.lessons import occasion
from ace.lessons.call_lines import SeenCall, write_calls
from ace.lessons.record_line import RecordLine, cut
from ace.task.task import Task

MAX_TEXT = 3_000  # characters of the goal, the result and the feedback each


def read_lines(task: Task, run_id: str) -> list[RecordLine]:
    """Return the lines of a task: its goal, its calls, its result and the feedback."""
    sources = {each.field: each for each in occasion.read_sources(task, run_id)}

    def write(mark: str, field: str, head: str = "") -> list[RecordLine]:
        source = sources[field]
        words = cut(source.text, MAX_TEXT)
        return [RecordLine(mark, head, words, (source,))] if words else []

    seen = [
        SeenCall(call, sources[call.arguments_field], sources[call.result_field])
        for call in task.calls
    ]
    calls = write_calls(seen)
    return [
        *write("GOAL", "goal"),
        *(calls[index] for index in sorted(calls)),
        *write("RESULT", "result"),
        *write("FEEDBACK", "feedback", f"by {task.feedback_source}"),
    ]
