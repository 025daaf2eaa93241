"""No accepted text costs more than a hundred times an ordinary text of its length."""

from __future__ import annotations

import os
from itertools import count
from time import thread_time

import pytest

from tests.growth.adversaries import UNITS
from tests.growth.functions import PHRASES, SECRET_PHRASES
from tests.growth.patterns import BASE

pytestmark = pytest.mark.slow

MOST = 100
# The pieces that cost most; `GROWTH=all` tries every one.
DEAREST = ("a: ", "curl -u a1:")
PIECES = (
    (*UNITS, *PHRASES, *SECRET_PHRASES)
    if os.environ.get("GROWTH") == "all"
    else DEAREST
)
MANUAL = "\n".join(path.read_text() for path in sorted((BASE / "docs").glob("*.md")))


def remember(text):
    scope = {"kind": "user", "user_id": "alice"}
    return "memories", {"content": text, "memory_type": "learning", "scope": scope}


def search(text):
    return "search", {"query": text}


def propose(text):
    change = {"operation": "add", "content": text, "category": "gotchas"}
    return "proposals", change | {"reason": "It is so."}


def import_rules(text):
    rows = [row for row in text.split("\n") if row.strip()]
    rules = "\n".join(f"[a-{place}] {row}" for place, row in enumerate(rows))
    return "playbook/import", {"content": rules[: len(text)]}


def complete(text):
    """A task whose failed call has the text in each of its fields."""
    calls = [
        {
            "tool_name": "Bash",
            "arguments": {"command": text},
            "result": f"Error: {text}",
        },
        {"tool_name": "Bash", "arguments": {"command": "ls"}, "result": "ok"},
    ]
    task = {"goal": text, "result": text, "feedback": text, "tool_usage": calls}
    return "complete-task", task | {"agent_id": "coder", "outcome": "success"}


DOORS = {
    "a memory": (remember, 50_000),
    "a query": (search, 10_000),
    "a proposed rule": (propose, 4_000),
    "an import": (import_rules, 2_000),
    "a task": (complete, 10_000),
}


@pytest.mark.parametrize("name", DOORS)
def test_no_text_costs_more_than_a_hundred_ordinary_ones(
    name, alice_api, project, run_jobs
):
    request_of, length = DOORS[name]
    numbers = count()

    def cost(text):
        path, body = request_of(f"{next(numbers)} {text}"[:length])
        body["project_id"] = str(project.pk)
        began = thread_time()
        answer = alice_api.post(f"/api/v1/{path}", body)
        run_jobs()
        spent = thread_time() - began
        # A text may be refused, such as one of blanks; that costs too.
        assert answer.status_code in (201, 200, 400), answer.content
        assert answer.status_code < 300 or text not in MANUAL
        return spent

    ordinary = min(cost(MANUAL[n * length :][:length]) for n in range(2))
    costs = {piece: cost(piece * (length // len(piece))) for piece in PIECES}

    assert {p: c / ordinary for p, c in costs.items() if c > MOST * ordinary} == {}
