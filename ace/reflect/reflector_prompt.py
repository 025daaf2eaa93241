"""A run as the reflector's prompt tells it: whole where it is short, else its edges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ace.reflect.by_rules import RuleFindings
from ace.rules import causes
from ace.rules import evidence as spans
from ace.rules.task import Task, ToolCall
from common.text.plain_text import clip
from inference.language.fence import FencedText, fence_texts, keep_ends
from projects.models import Project

# Characters. All together about 8,000 tokens: what a local model reads in one go.
MAX_TEXT = 4_000
MAX_CALL = 1_500
MAX_ALL_CALLS = 16_000
MAX_HINTS = 30
MAX_HINT = 200


def build(task: Task, project: Project, read: RuleFindings) -> str:
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


def parts(task: Task, read: RuleFindings) -> Iterator[FencedText]:
    for field in ("goal", "result", "feedback"):
        if text := task.text(field):
            yield FencedText(field, keep_ends(text, MAX_TEXT))
    chosen = _choose_calls(task, read)
    for call in chosen:
        yield from _call_parts(call)
    if left_out := len(task.calls) - len(chosen):
        yield FencedText("left out", f"{left_out} further tool calls")
    if hints := _hints(task, read):
        yield FencedText("marks that rules have found", hints)


def _choose_calls(task: Task, read: RuleFindings) -> list[ToolCall]:
    """The calls that there is room for: those with marks first, then the last ones."""
    marked = {span.field.rpartition(".")[0] for span in read.evidence}
    order = sorted(
        task.calls,
        key=lambda call: (
            call.name_field.rpartition(".")[0] not in marked,
            -call.index,
        ),
    )
    chosen, room = [], MAX_ALL_CALLS
    for call in order:
        room -= min(len(call.arguments_text), MAX_CALL) + min(
            len(call.result), MAX_CALL
        )
        if room < 0:
            break
        chosen.append(call)
    return sorted(chosen, key=lambda call: call.index)


def _call_parts(call: ToolCall) -> Iterator[FencedText]:
    yield FencedText(call.name_field, keep_ends(call.tool_name, MAX_HINT))
    yield FencedText(call.arguments_field, keep_ends(call.arguments_text, MAX_CALL))
    yield FencedText(call.result_field, keep_ends(call.result, MAX_CALL))


def _hints(task: Task, read: RuleFindings) -> str:
    held: Sequence[str] = [
        f"{span.kind} in {span.field}: {clip(spans.quote(task, span), MAX_HINT)}"
        for span in read.evidence[:MAX_HINTS]
    ]
    return "\n".join(held)
