"""A run as the reflector's prompt tells it: whole where it is short, else its edges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ace.reflector import Reflected
from ace.rules import causes
from ace.rules import evidence as spans
from ace.rules.task import Task, ToolCall
from common.text.plain_text import clip
from inference.language.fence import FencedText, fence_texts, keep_ends
from projects.models import Project

# Characters. All together about 8,000 tokens: what a local model reads in one go.
TEXT = 4_000
CALL = 1_500
ALL_CALLS = 16_000
HINTS = 30
HINT = 200


def prompt(task: Task, project: Project, read: Reflected) -> str:
    codes = ", ".join(root_causes(project))
    return (
        f"The task ended in {read.outcome.value} (known from {read.outcome.source}). "
        f"The feedback is by: {task.feedback_source}.\n"
        f"Categories: {', '.join(project.options.categories)}\n"
        f"Root causes: {codes}\n\n"
        f"{fence_texts([*parts(task, read)])}\n\n"
        "Write down what this record teaches."
    )


def root_causes(project: Project) -> list[str]:
    """The project's own codes before the built-in ones, each once."""
    own = [row.code for row in project.options.root_causes]
    codes = [*own, *(row.code for row in causes.ROWS), causes.UNKNOWN]
    return list(dict.fromkeys(codes))


def parts(task: Task, read: Reflected) -> Iterator[FencedText]:
    for field in ("goal", "result", "feedback"):
        if text := task.text(field):
            yield FencedText(field, keep_ends(text, TEXT))
    chosen = _chosen(task, read)
    for call in chosen:
        yield from _of_call(call)
    if left_out := len(task.calls) - len(chosen):
        yield FencedText("left out", f"{left_out} further tool calls")
    if hints := _hints(task, read):
        yield FencedText("marks that rules have found", hints)


def _chosen(task: Task, read: Reflected) -> list[ToolCall]:
    """The calls that there is room for: those with marks first, then the last ones."""
    marked = {span.field.rpartition(".")[0] for span in read.evidence}
    order = sorted(
        task.calls,
        key=lambda call: (
            call.name_field.rpartition(".")[0] not in marked,
            -call.index,
        ),
    )
    chosen, room = [], ALL_CALLS
    for call in order:
        room -= min(len(call.arguments_text), CALL) + min(len(call.result), CALL)
        if room < 0:
            break
        chosen.append(call)
    return sorted(chosen, key=lambda call: call.index)


def _of_call(call: ToolCall) -> Iterator[FencedText]:
    yield FencedText(call.name_field, keep_ends(call.tool_name, HINT))
    yield FencedText(call.arguments_field, keep_ends(call.arguments_text, CALL))
    yield FencedText(call.result_field, keep_ends(call.result, CALL))


def _hints(task: Task, read: Reflected) -> str:
    held: Sequence[str] = [
        f"{span.kind} in {span.field}: {clip(spans.quote(task, span), HINT)}"
        for span in read.evidence[:HINTS]
    ]
    return "\n".join(held)
