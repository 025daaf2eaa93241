"""The codes of a proposal in words: its cause, its producer and the fields of its quotes."""

from __future__ import annotations

import re

from playbook.models import PlaybookDelta

# The codes of `ace.rules.causes`; a project's own causes are its own words.
CAUSES = {
    "RATE_LIMIT": "too many requests",
    "CONCURRENCY": "two things at the same time",
    "AUTH": "a sign-in that failed",
    "PERMISSION": "a missing permission",
    "ENCODING": "a text encoding",
    "DEPENDENCY": "a missing or wrong package",
    "ENV_SETUP": "the set-up of the machine",
    "TIMEOUT": "a time limit",
    "TOOL_ARGS": "wrong arguments of a tool",
    "API_SCHEMA": "the shape of a request or an answer",
    "FORMAT": "a format",
    "NOT_FOUND": "something that is not there",
    "REGRESSION": "something that had worked before",
    "VALUE_MISMATCH": "another value than expected",
    "INCOMPLETE_DATA": "missing data",
    "WRONG_SOURCE": "a wrong source",
    "REQUIREMENT_MISSED": "a missed requirement",
    "NO_VERIFICATION": "a check that was left out",
    "UNKNOWN": "unknown",
}
PRODUCERS = {
    PlaybookDelta.Producer.RULE: "the built-in rules",
    PlaybookDelta.Producer.MODEL: "a language model",
    PlaybookDelta.Producer.HUMAN: "a person or an agent, by hand",
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


def describe_cause(code: str) -> str:
    return CAUSES.get(code, code)


def describe_field(field: str) -> str:
    """Name the field of a quote; a field that is not known keeps its name."""
    if match := _CALL.fullmatch(field):
        part = PARTS.get(match[2], match[2])
        return f"Call {int(match[1]) + 1:,}, {part}"
    return FIELDS.get(field, field)
