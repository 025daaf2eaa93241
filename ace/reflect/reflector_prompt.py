"""Write the reflector's prompt about a task. Long texts lose their middle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ace.reflect.by_rules import RuleFindings
from ace.rules import causes
from ace.rules import evidence as spans
from ace.rules.task import Task, ToolCall
from common.text.plain_text import clip
from common.text.quote import exact_json
from inference.language.fence import FencedText, fence_texts, keep_ends
from playbook.models import PlaybookEntry
from projects.models import Project

# Limits in characters. The whole prompt has at most about 8,000 tokens, which fit the
# context of a local model.
MAX_TEXT = 4_000
MAX_CALL = 1_500
MAX_ALL_CALLS = 16_000
MAX_HINTS = 30
MAX_HINT = 200
MAX_RULE = 500


def build(
    task: Task,
    project: Project,
    findings: RuleFindings,
    entries: Sequence[PlaybookEntry] = (),
) -> str:
    """Return the prompt. `entries` are those that the agent was given and that are judged."""
    codes = ", ".join(root_causes(project))
    return (
        f"The task ended in {findings.outcome.value} (known from {findings.outcome.source}). "
        f"The feedback is by: {task.feedback_source}.\n"
        f"Categories: {', '.join(project.options.categories)}\n"
        f"Root causes: {codes}\n\n"
        f"{fence_texts([*parts(task, findings), *_given_parts(entries)])}\n\n"
        "Write down what this record teaches."
    )


def root_causes(project: Project) -> list[str]:
    """Return the codes of the project, then the built-in codes, without repeats."""
    own = [row.code for row in project.options.root_causes]
    codes = [*own, *(row.code for row in causes.ROWS), causes.UNKNOWN]
    return list(dict.fromkeys(codes))


def parts(task: Task, findings: RuleFindings) -> Iterator[FencedText]:
    for field in ("goal", "result", "feedback"):
        if text := task.text(field):
            yield FencedText(field, keep_ends(text, MAX_TEXT))
    calls = _choose_calls(task, findings)
    for call in calls:
        yield from _call_parts(call)
    if skipped := len(task.calls) - len(calls):
        yield FencedText("left out", f"{skipped} further tool calls")
    if hints := format_hints(task, findings):
        yield FencedText("marks that rules have found", hints)


def _given_parts(entries: Sequence[PlaybookEntry]) -> Iterator[FencedText]:
    for entry in entries:
        text = f"{entry.label}: {exact_json(clip(entry.content, MAX_RULE))}"
        yield FencedText("a rule that the agent was given", text)


def _choose_calls(task: Task, findings: RuleFindings) -> list[ToolCall]:
    """Return the tool calls that the prompt has room for, in their original order.

    Calls with evidence are chosen first, and later calls before earlier ones.
    """
    with_evidence = {span.field.rpartition(".")[0] for span in findings.evidence}
    order = sorted(
        task.calls,
        key=lambda call: (
            call.name_field.rpartition(".")[0] not in with_evidence,
            -call.index,
        ),
    )
    calls, room = [], MAX_ALL_CALLS
    for call in order:
        room -= min(len(call.arguments_text), MAX_CALL) + min(
            len(call.result), MAX_CALL
        )
        if room < 0:
            break
        calls.append(call)
    return sorted(calls, key=lambda call: call.index)


def _call_parts(call: ToolCall) -> Iterator[FencedText]:
    yield FencedText(call.name_field, keep_ends(call.tool_name, MAX_HINT))
    yield FencedText(call.arguments_field, keep_ends(call.arguments_text, MAX_CALL))
    yield FencedText(call.result_field, keep_ends(call.result, MAX_CALL))


def format_hints(task: Task, findings: RuleFindings) -> str:
    hints: Sequence[str] = [
        f"{span.kind} in {span.field}: {exact_json(clip(spans.quote(task, span), MAX_HINT))}"
        for span in findings.evidence[:MAX_HINTS]
    ]
    return "\n".join(hints)
