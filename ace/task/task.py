"""Represent a finished task for the rules, as frozen texts and tool calls."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from ace.task import tool_calls
from ace.task.runner_reports import Counts, count_tests

OutcomeValue = Literal["success", "partial", "failure", "unknown"]
_OUTCOMES: dict[str, OutcomeValue] = {
    "success": "success",
    "partial": "partial",
    "failure": "failure",
    "unknown": "unknown",
}

# Values at a greater depth are cut. So every later step can walk the arguments recursively.
MAX_DEPTH = 40
CUT = "…"
# Characters that PostgreSQL cannot store. The check of the request body does not see them if
# an argument is a JSON string and contains them as escapes.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True)
class ToolCall:
    """One step of a task. `has_failed` is None if nothing shows whether the call failed."""

    index: int
    tool_name: str
    arguments: dict[str, Any]
    result: str
    has_failed: bool | None = None
    # The arguments as the client sent them, if they were a string.
    raw_arguments: str = ""
    # Whether the service itself says that the result is somebody else's words.
    is_foreign: bool = False
    # Whether the client itself said how the call ended.
    has_status: bool = False
    # The folder in which the call ran, if the client said it.
    cwd: str = ""

    @cached_property
    def arguments_text(self) -> str:
        """Return the text that the spans of evidence point into.

        It is the string that the client sent, or the arguments as canonical JSON.
        """
        return self.raw_arguments or canonical_json(self.arguments)

    @cached_property
    def kind(self) -> tool_calls.Kind:
        return tool_calls.kind_of(self.tool_name, self.arguments)

    @cached_property
    def command(self) -> str:
        """Return the command line if the tool is a shell, or else an empty string."""
        if not tool_calls.is_shell(self.tool_name, self.arguments):
            return ""
        return tool_calls.command_of(self.arguments)

    @cached_property
    def test_counts(self) -> Counts | None:
        """Return what a test report in the result counts."""
        return count_tests(self.result)

    @property
    def is_of_domain(self) -> bool:
        """Whether the tool is neither a shell, nor a thought, nor a tool for files."""
        return not (
            self.command
            or self.kind in ("run", "think")
            or tool_calls.is_file_tool(self.tool_name, self.arguments)
        )

    @property
    def arguments_field(self) -> str:
        return f"tool_usage.{self.index}.arguments"

    @property
    def result_field(self) -> str:
        return f"tool_usage.{self.index}.result"

    @property
    def cwd_field(self) -> str:
        return f"tool_usage.{self.index}.cwd"

    @property
    def name_field(self) -> str:
        return f"tool_usage.{self.index}.tool_name"


@dataclass(frozen=True)
class Task:
    goal: str
    result: str
    feedback: str
    calls: tuple[ToolCall, ...] = ()
    outcome: OutcomeValue | None = None
    feedback_source: str = "agent"
    # Whether the agent says that it used an entry of the playbook.
    follows_entry: bool = False
    # Whether the goal is a person's own prompt, as a transcript recorded it.
    is_prompt: bool = False
    # Whether the sender says that a person gave the feedback, whoever counts as its teller.
    is_told_by_person: bool = False

    def call(self, field: str) -> ToolCall | None:
        """Return the call that a field belongs to. Goal, result and feedback belong to no call."""
        head, _, rest = field.partition(".")
        number = rest.partition(".")[0]
        if head != "tool_usage" or not number.isdecimal():
            return None
        return self.calls[int(number)] if int(number) < len(self.calls) else None

    def text(self, field: str) -> str:
        """Return the text of a field. Raise KeyError if the field is unknown.

        The fields are `goal`, `result`, `feedback`, `tool_usage.<i>.result`,
        `tool_usage.<i>.arguments`, `tool_usage.<i>.tool_name` and `tool_usage.<i>.cwd`.
        """
        if field in ("goal", "result", "feedback"):
            return str(getattr(self, field))
        call = self.call(field)
        if call is None:
            raise KeyError(field)
        return _part(call, field.split(".", 2)[-1])


def parse(request: Mapping[str, Any]) -> Task:
    """Parse a stored request. An outcome or tool calls of an unknown form are left out."""
    outcome = str(request.get("outcome") or "").strip().lower()
    return Task(
        goal=as_text(request.get("goal")),
        result=as_text(request.get("result")),
        feedback=as_text(request.get("feedback")),
        calls=_calls(request.get("tool_usage")),
        outcome=_OUTCOMES.get(outcome),
        feedback_source=_counted_source(request),
        follows_entry=bool(request.get("cited_entry_ids")),
        is_prompt=request.get("is_prompt") is True,
        is_told_by_person=request.get("feedback_source") == "human",
    )


def parse_failed_call(request: Mapping[str, Any]) -> ToolCall:
    """Parse one call that has failed: {tool, arguments, error, cwd}."""
    return parse_ended_call(
        {**request, "result": request.get("error"), "is_error": True}
    )


def parse_ended_call(step: Mapping[str, Any]) -> ToolCall:
    """Parse one call, whose result may show that it failed."""
    return parse_call(0, step)


def _counted_source(request: Mapping[str, Any]) -> str:
    """Return whose word the feedback is, which may be less than what the sender claims."""
    return str(request.get("counted_as") or request.get("feedback_source") or "agent")


def canonical_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def as_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else canonical_json(_prune(value))


def _part(call: ToolCall, part: str) -> str:
    if part == "result":
        return call.result
    if part == "arguments":
        return call.arguments_text
    if part == "tool_name":
        return call.tool_name
    if part == "cwd":
        return call.cwd
    raise KeyError(part)


def _calls(entries: Any) -> tuple[ToolCall, ...]:
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        return ()
    steps = [entry for entry in entries if isinstance(entry, Mapping)]
    return tuple(parse_call(index, step) for index, step in enumerate(steps))


def parse_call(index: int, step: Mapping[str, Any]) -> ToolCall:
    """Parse the call at a place of a task, as complete-task takes it."""
    name = as_text(_first(step, "tool_name", "tool", "name"))
    if not name:
        # A step of a recorded shell session has a command, but no tool name.
        name = "shell" if "action" in step else "unknown"
    raw = _first(step, "arguments", "args", "input", "action")
    arguments = _arguments(raw)
    result = as_text(_first(step, "result", "output", "observation"))
    has_failed = tool_calls.has_failed(name, arguments, result, step)
    raw_arguments = raw if isinstance(raw, str) else ""
    return ToolCall(
        index,
        name,
        arguments,
        result,
        has_failed,
        raw_arguments,
        is_foreign=step.get("is_foreign") is True,
        has_status=tool_calls.is_stated(step),
        cwd=as_text(step.get("cwd")),
    )


def _first(step: Mapping[str, Any], *keys: str) -> Any:
    return next((step[key] for key in keys if step.get(key) is not None), None)


def _arguments(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        value = _load(value)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        value = {"input": value}
    pruned = _prune(value)
    return pruned if isinstance(pruned, dict) else {}


def _load(text: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {"input": text}
    return value if isinstance(value, dict) else {"input": text}


def _prune(value: Any, depth: int = 0) -> Any:
    if depth > MAX_DEPTH:
        return CUT
    if isinstance(value, Mapping):
        return {
            _UNSTORABLE.sub("\ufffd", str(key)): _prune(item, depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_prune(item, depth + 1) for item in value]
    if isinstance(value, str):
        return _UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, int | float):
        return value
    return str(value)
