"""The benchmark of what memory gives where nothing that is stored helps."""

from __future__ import annotations

import json

import pytest

from benchmarks.measures import memory_harm
from benchmarks.measures.memory_harm import HarmCheck
from benchmarks.options import BenchmarkOptions
from memories.store import write
from memories.store.drafts import Draft
from tests.benchmarks.measures.test_agent_episodes import CURED, write_session

pytestmark = pytest.mark.django_db(transaction=True)
GOAL = "Show which files changed in the cart of the shop"


def test_it_prepares_four_conditions_from_the_traces_and_sessions(tmp_path):
    sessions = tmp_path / "sessions" / "claude-code"
    traces = tmp_path / "traces"
    sessions.mkdir(parents=True)
    traces.mkdir()
    write_session(sessions, "000", GOAL, [CURED])
    row = {"goal": "Book a flight from Oslo to Rome for two", "result": "Booked.", "tool_usage": [], "reward": 1}  # fmt: skip
    (traces / "airline-tasks.jsonl").write_text(json.dumps(row))

    rows = memory_harm.run(BenchmarkOptions(tmp_path))["conditions"]

    assert {name: row["tasks"] for name, row in rows.items()} == {
        "nothing fits": 1,
        "superseded or stale": 1,
        "contradicting": 1,
        "neighbouring topic": 0,
    }
    assert rows["nothing fits"]["with_memory"] == 0
    assert rows["superseded or stale"]["with_memory"] == 1
    assert [row["unmarked"] for row in rows.values()] == [[]] * 4


def test_a_line_without_its_mark_counts(tmp_path):
    def prepare(project, asked, stored):
        draft = Draft(content=GOAL, memory_type="learning")
        memory = write.store(project, draft, memory_harm.SYSTEM).memory
        yield HarmCheck(GOAL, {str(memory.pk): "contradicts"})

    row = memory_harm._measure(prepare, (), (), BenchmarkOptions(tmp_path))

    assert len(row["unmarked"]) == 1
