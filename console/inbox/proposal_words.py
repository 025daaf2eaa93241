"""The codes of a proposal in words: its kind, its producer and the fields of its quotes."""

from __future__ import annotations

import re

from playbook.lessons.lesson import Kind
from playbook.models import PlaybookDelta

KINDS = {
    Kind.FIX: "a failure and its cure",
    Kind.CHECK: "a check that finds what others miss",
    Kind.INSTRUCTION: "how a person wants it",
    Kind.PREFERENCE: "what a person likes better",
    Kind.DECISION: "what was decided",
    Kind.FACT: "what is so here",
    Kind.PROCEDURE: "how something is done",
    Kind.ANSWER: "the answer to a question",
}
PRODUCERS = {
    PlaybookDelta.Producer.RULE: "the built-in rules",
    PlaybookDelta.Producer.MODEL: "a language model",
    PlaybookDelta.Producer.AGENT: "an agent, in its own words",
    PlaybookDelta.Producer.HUMAN: "a person",
}
PARTS = {
    "arguments": "what was called",
    "result": "what it returned",
    "error": "its error",
    "tool_name": "its name",
}
FIELDS = {
    "goal": "The goal of the task",
    "result": "The result of the task",
    "feedback": "The feedback on the task",
    "outcome": "The outcome of the task",
}
_CALL = re.compile(r"tool_usage\.([0-9]{1,6})\.(\w{1,40})")


def describe_kind(kind: str) -> str:
    return KINDS[Kind(kind)] if kind in set(Kind) else ""


def describe_field(field: str) -> str:
    """Name the field of a quote; a field that is not known keeps its name."""
    if match := _CALL.fullmatch(field):
        part = PARTS.get(match[2], match[2])
        return f"Call {int(match[1]) + 1:,}, {part}"
    return FIELDS.get(field, field)
