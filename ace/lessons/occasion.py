"""Say where the lessons of a run were taught: its texts, and who said each of them."""

from __future__ import annotations

from collections.abc import Iterator

from ace.models import AceRun
from ace.repairs.record import session_of
from ace.task import foreign, tool_calls
from ace.task.task import Task, ToolCall
from playbook.lessons.lesson import Occasion, SourceText, Speaker

RUN = "run"  # the kind of the source
_TELLERS = {
    "human": Speaker.PERSON,
    "test": Speaker.TEST,
    "environment": Speaker.TEST,
}


def occasion_of(run: AceRun, outcome: str) -> Occasion:
    return Occasion(
        id=run.pk,
        sources=[each for each in read_sources(run.task, str(run.pk)) if each.text],
        run_id=run.pk,
        memory_id=run.memory_id,
        session=session_of(run),
        agent_id=run.agent_id,
        feedback_source=run.task.feedback_source,
        outcome=outcome,
    )


def read_sources(task: Task, run_id: str) -> Iterator[SourceText]:
    """Yield each text of a task, with who said it."""
    teller = _TELLERS.get(task.feedback_source, Speaker.AGENT)
    asker = Speaker.PERSON if task.is_prompt else Speaker.AGENT
    yield SourceText(RUN, run_id, "feedback", task.feedback, teller)
    yield SourceText(RUN, run_id, "goal", task.goal, asker)
    yield SourceText(RUN, run_id, "result", task.result, Speaker.AGENT)
    for call in task.calls:
        is_refused = task.is_prompt and tool_calls.is_refusal(call.result)
        texts = (
            (call.result_field, call.result, speaker_of(call, is_refused=is_refused)),
            (call.arguments_field, call.arguments_text, Speaker.CALL),
            (call.name_field, call.tool_name, Speaker.CALL),
            (call.cwd_field, call.cwd, Speaker.CALL),
        )
        for field, text, speaker in texts:
            yield SourceText(RUN, run_id, field, text, speaker, call.has_failed)


def speaker_of(call: ToolCall, *, is_refused: bool = False) -> Speaker:
    """Return whose words a result is: a refused call of a transcript has a person's words."""
    if call.is_foreign or foreign.is_foreign(call.tool_name, call.arguments):
        return Speaker.FOREIGN
    return Speaker.PERSON if is_refused else Speaker.CALL
