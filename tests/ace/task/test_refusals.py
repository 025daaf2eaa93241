"""What a person refused is neither a failure to learn from nor a call that worked."""

from __future__ import annotations

import pytest

from ace.task import tool_calls
from tests.ace.lessons.teach import teach
from tests.ace.repairs.calls import bash, tool

REFUSAL = "[Operation Cancelled] Reason: User did not allow tool call"


def contents(*calls):
    found = teach(outcome="success", tool_usage=list(calls))
    return [lesson.content for lesson in found]


@pytest.mark.parametrize(
    "text",
    [
        "Permission to use this table is required",
        "error: the user doesn't want to be found",
        "3 jobs were aborted by user request",
        "",
    ],
)
def test_other_texts_are_no_refusals(text):
    assert not tool_calls.is_refusal(text)


def test_a_refused_command_is_not_taught():
    assert not contents(
        bash("deployctl push --env=prod", "Error: unknown flag: --env"),
        bash("deployctl push --target=prod", "exec command rejected by user"),
    )


@pytest.mark.parametrize(
    "results",
    [("Error: unexpected argument limit, use count", REFUSAL), (REFUSAL, "[]")],
)
def test_a_refused_call_is_not_taught(results):
    first, second = results

    assert not contents(
        tool("query_orders", first, limit=5, status="open"),
        tool("query_orders", second, count=5, status="open"),
    )
