"""Read a finished task, as complete-task takes it, into the lines of its record."""

from __future__ import annotations

from collections.abc import Iterator

from ace.lessons.call_lines import SeenCall, speaker_of, write_calls
from ace.lessons.record_line import RecordLine, cut
from ace.rules.task import Task, ToolCall
from playbook.lessons.lesson import SourceText, Speaker

MAX_TEXT = 3_000  # characters of the goal, the result and the feedback each
# Who speaks in the feedback of a task, by its source that counts.
_TELLERS = {
    "human": Speaker.PERSON,
    "test": Speaker.TEST,
    "environment": Speaker.TEST,
    "agent": Speaker.AGENT,
}


def read_lines(task: Task, run_id: str) -> list[RecordLine]:
    """Return the lines of a task: its goal, its calls, its result and the feedback."""
    calls = write_calls([_see(call, run_id) for call in task.calls])
    sources = {source.field: source for source in text_sources(task, run_id)}
    lines: list[RecordLine] = []
    for mark, field in (("GOAL", "goal"), ("", ""), ("RESULT", "result")):
        if not mark:
            lines += [calls[index] for index in sorted(calls)]
        elif source := sources.get(field):
            lines.append(RecordLine(mark, "", cut(source.text, MAX_TEXT), (source,)))
    if source := sources.get("feedback"):
        head = f"by {task.feedback_source}"
        words = cut(source.text, MAX_TEXT)
        lines.append(RecordLine("FEEDBACK", head, words, (source,)))
    return lines


def text_sources(task: Task, run_id: str) -> Iterator[SourceText]:
    """Yield the goal, the result and the feedback, as far as they have words."""
    speakers = {
        "goal": Speaker.PERSON if task.is_prompt else Speaker.AGENT,
        "result": Speaker.AGENT,
        "feedback": _TELLERS.get(task.feedback_source, Speaker.AGENT),
    }
    for field, speaker in speakers.items():
        if text := task.text(field):
            yield SourceText("run", run_id, field, text, speaker)


def call_sources(call: ToolCall, run_id: str) -> tuple[SourceText, SourceText]:
    """Return the arguments and the result of a call as texts to quote."""
    asked = SourceText(
        "run", run_id, call.arguments_field, call.arguments_text, Speaker.CALL
    )
    result = SourceText("run", run_id, call.result_field, call.result, speaker_of(call))
    return asked, result


def _see(call: ToolCall, run_id: str) -> SeenCall:
    return SeenCall(call, *call_sources(call, run_id))
