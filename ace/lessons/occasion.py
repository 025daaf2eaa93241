"""Say where the lessons of a run were taught: its texts, and who said each of them."""

from __future__ import annotations

from collections.abc import Iterator

from ace.models import AceRun
from ace.repairs.record import session_of
from ace.rules.task import Task, ToolCall
from ace.rules.tool_calls import foreign_output, refusals
from playbook.lessons.lesson import Occasion, SourceText, Speaker

_TELLERS = {
    "human": Speaker.PERSON,
    "test": Speaker.TEST,
    "environment": Speaker.TEST,
}


def occasion_of(run: AceRun, outcome: str) -> Occasion:
    return Occasion(
        id=run.pk,
        sources=[
            SourceText("run", str(run.pk), field, text, speaker)
            for field, text, speaker in _sources(run.task)
            if text
        ],
        run_id=run.pk,
        memory_id=run.memory_id,
        session=session_of(run),
        agent_id=run.agent_id,
        feedback_source=run.task.feedback_source,
        outcome=outcome,
    )


def _sources(task: Task) -> Iterator[tuple[str, str, Speaker]]:
    """Yield (field, text, speaker) of each text of a task."""
    # In a transcript, the goal is a prompt, and the feedback what was said to refused calls.
    sender = Speaker.PERSON if task.is_prompt else Speaker.AGENT
    yield "feedback", task.feedback, _TELLERS.get(task.feedback_source, sender)
    yield "goal", task.goal, sender
    yield "result", task.result, Speaker.AGENT
    for call in task.calls:
        yield call.result_field, call.result, _speaker_of(task, call)
        yield call.arguments_field, call.arguments_text, Speaker.CALL
        yield call.name_field, call.tool_name, Speaker.CALL


def _speaker_of(task: Task, call: ToolCall) -> Speaker:
    """Return whose words a result is: a refused call of a transcript has a person's words."""
    if call.is_foreign or foreign_output.is_foreign(call.tool_name, call.arguments):
        return Speaker.FOREIGN
    is_refused = task.is_prompt and refusals.is_refusal(call.result)
    return Speaker.PERSON if is_refused else Speaker.CALL
