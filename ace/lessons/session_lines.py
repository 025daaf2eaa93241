"""Read the messages of a session into the lines of its record.

What a person said stands whole; of the agent's words stands the end of each exchange, and the
beginning of the others. The harness's own lines, subagents and what this service gave are
left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from ace.lessons.call_lines import ASKING_TOOLS, SeenCall, write_calls
from ace.lessons.occasion import speaker_of
from ace.lessons.record_line import RecordLine, cut, one_line
from ace.task import task as tasks
from ace.task.task import canonical_json
from common.text.memory_fence import remove_fenced
from conversations.formats.harness import read_refusal
from conversations.formats.message import ChatMessage, content_text
from conversations.transcripts.events import QUEUED, recorded_fields
from conversations.transcripts.tasks import is_outside_of_tasks, prompt_of
from playbook.lessons.lesson import SourceText, Speaker

MAX_PROMPT, MAX_CLOSING, MAX_REMARK, MAX_PLAN = 3_000, 900, 300, 900  # characters
PLAN_TOOL = "ExitPlanMode"  # shows a plan to the person
# Claude Code begins a prompt so when the person only approved the plan of the agent.
_APPROVED_PLAN = "Implement the following plan:"


@dataclass(frozen=True)
class StoredMessage:
    """A message with the id by which its words are quoted."""

    id: str
    message: ChatMessage

    def source(self, field: str, text: str, speaker: Speaker) -> SourceText:
        return SourceText("message", self.id, field, text, speaker)


def read_lines(messages: Sequence[StoredMessage]) -> list[RecordLine]:
    """Return the lines of the messages, in order."""
    told = [each for each in messages if not is_outside_of_tasks(each.message)]
    calls = _read_calls(told)
    by_call = write_calls([seen for _, seen in calls])
    at_part = {place: by_call.get(index) for index, (place, _) in enumerate(calls)}
    closings = _find_closings(told)
    lines: list[RecordLine] = []
    for position, stored in enumerate(told):
        lines += _write_person(stored)
        for number, part in enumerate(stored.message.parts):
            if part["type"] == "text" and stored.message.role == "assistant":
                is_closing = (position, number) in closings
                lines += _write_agent(stored, number, part, is_closing=is_closing)
            elif part["type"] == "tool_call" and part["name"] == PLAN_TOOL:
                lines += _write_plan(stored, number, part)
            elif part["type"] == "tool_result":
                lines += _write_answer(stored, number, part, calls)
            if line := at_part.get((position, number)):
                lines.append(line)
    return lines


def _write_person(stored: StoredMessage) -> Iterator[RecordLine]:
    message = stored.message
    fields = recorded_fields(message.metadata)
    if fields.get("interrupted"):
        yield RecordLine("PERSON", "interrupted the agent")
    words = prompt_of(message)
    if not words:
        return
    when = _time(message.created_at)
    if words.startswith(_APPROVED_PLAN):
        head = f"{when} (a plan that an agent wrote; the person only approved it)"
        source = stored.source("text", message.text, Speaker.AGENT)
        yield RecordLine("PLAN", head.strip(), cut(words, MAX_PLAN), (source,))
        return
    is_queued = message.external_id.startswith(QUEUED)
    head = f"{when}{' (typed while the agent worked)' if is_queued else ''}"
    source = stored.source("text", message.text, Speaker.PERSON)
    yield RecordLine("PERSON", head.strip(), cut(words, MAX_PROMPT), (source,))


def _write_agent(
    stored: StoredMessage, number: int, part: dict[str, Any], *, is_closing: bool
) -> Iterator[RecordLine]:
    words = remove_fenced(part["text"]).strip()
    if not words:
        return
    source = stored.source(f"parts.{number}.text", part["text"], Speaker.AGENT)
    if is_closing:
        yield RecordLine("AGENT", "closes", cut(words, MAX_CLOSING), (source,))
    elif remark := _drop_lead(words):
        yield RecordLine("AGENT", one_line(remark, MAX_REMARK), sources=(source,))


def _drop_lead(words: str) -> str:
    """Drop the last sentence of a remark if it only leads to the call that follows."""
    line = " ".join(words.split())
    if not line.endswith((":", "\uff1a", "…")):
        return line
    ends = [line.rfind(mark, 0, -1) for mark in (". ", "! ", "? ", "。")]
    return line[: max(ends) + 1]


def _write_plan(
    stored: StoredMessage, number: int, part: dict[str, Any]
) -> Iterator[RecordLine]:
    arguments = part["arguments"]
    plan = arguments.get("plan") if isinstance(arguments, dict) else None
    if isinstance(plan, str) and plan.strip():
        source = stored.source(f"parts.{number}.arguments", plan, Speaker.AGENT)
        words = cut(plan, MAX_PLAN)
        yield RecordLine("PLAN", "(the agent wrote it)", words, (source,))


def _write_answer(
    stored: StoredMessage,
    number: int,
    part: dict[str, Any],
    calls: Sequence[tuple[tuple[int, int], SeenCall]],
) -> Iterator[RecordLine]:
    """Yield what a person answered to a question of the agent."""
    place = (stored.id, f"parts.{number}.content")
    asked = next(
        (seen for _, seen in calls if (seen.result.id, seen.result.field) == place),
        None,
    )
    if asked is None or asked.call.tool_name not in ASKING_TOOLS or part["is_error"]:
        return
    text = content_text(part["content"])
    source = stored.source(f"parts.{number}.content", text, Speaker.PERSON)
    words = cut(text, MAX_CLOSING)
    yield RecordLine("PERSON", "answered a question of the agent", words, (source,))


def _read_calls(
    messages: Sequence[StoredMessage],
) -> list[tuple[tuple[int, int], SeenCall]]:
    """Return the answered calls, each with the place of its part: (message, part)."""
    results = {
        part["id"]: (stored, number, part)
        for stored in messages
        for number, part in enumerate(stored.message.parts)
        if part["type"] == "tool_result"
    }
    found: list[tuple[tuple[int, int], SeenCall]] = []
    for position, stored in enumerate(messages):
        for number, part in enumerate(stored.message.parts):
            if part["type"] == "tool_call" and part["id"] in results:
                seen = _see(len(found), stored, number, part, results[part["id"]])
                found.append(((position, number), seen))
    return found


def _see(
    index: int,
    stored: StoredMessage,
    number: int,
    part: dict[str, Any],
    answer: tuple[StoredMessage, int, dict[str, Any]],
) -> SeenCall:
    answered, at, result = answer
    text = remove_fenced(content_text(result["content"]))
    arguments = part["arguments"]
    call = tasks.parse_call(
        index,
        {
            "tool": part["name"],
            "arguments": arguments,
            "result": text,
            "cwd": _text(recorded_fields(stored.message.metadata).get("cwd")),
            **({"is_error": True} if result["is_error"] else {}),
        },
    )
    asked = call.command or (
        arguments if isinstance(arguments, str) else canonical_json(arguments)
    )
    return SeenCall(
        call,
        replace(
            stored.source(f"parts.{number}.arguments", asked, Speaker.CALL),
            has_failed=call.has_failed,
        ),
        replace(
            answered.source(f"parts.{at}.content", text, speaker_of(call)),
            has_failed=call.has_failed,
        ),
        read_refusal(text, is_error=result["is_error"]),
    )


def _find_closings(messages: Sequence[StoredMessage]) -> set[tuple[int, int]]:
    """Return the places of the agent's last words before a person speaks, and at the end."""
    closings, last = set(), None
    for position, stored in enumerate(messages):
        if last and prompt_of(stored.message):
            closings.add(last)
        if stored.message.role == "assistant":
            for number, part in enumerate(stored.message.parts):
                if part["type"] == "text" and part["text"].strip():
                    last = (position, number)
    return closings | ({last} if last else set())


def _time(moment: datetime | None) -> str:
    return moment.strftime("%Y-%m-%d %H:%M") if moment else ""


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
