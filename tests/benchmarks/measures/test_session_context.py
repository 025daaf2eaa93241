"""The benchmark of what a session is given at its start, and the sheet for its readers."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import call_command

from playbook.models import Exposure
from tests.benchmarks.measures.test_agent_episodes import CURED, FAILED, write_session

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def benchmark(tmp_path):
    def run(*options):
        numbers = tmp_path / "numbers.json"
        places = ["--in-place", f"--data={tmp_path}", f"--json={numbers}"]
        call_command("benchmark", "context", *places, *options, stdout=StringIO())
        return json.loads(numbers.read_text())

    return run


@pytest.fixture
def write(tmp_path):
    folder = tmp_path / "sessions" / "claude-code"
    folder.mkdir(parents=True)

    def write(*goals):
        for number, goal in enumerate(goals):
            write_session(folder, f"{number:03}", goal, [FAILED, CURED])

    return write


def test_a_failure_of_two_sessions_is_prevented_in_the_third(benchmark, write):
    write("What changed?", "Which files changed?", "List what changed.")

    numbers = benchmark()

    assert (numbers["came_back"], numbers["prevented"]) == (1, 1.0)
    assert '"--stat"' in numbers["last_card"]


def test_the_sheet_has_later_tasks_with_what_earlier_sessions_give(
    benchmark, write, tmp_path
):
    goal = "What changed in SHOP-118, the cart of the shop?"
    write(goal, goal, goal, "Draw a picture of the moon.")
    sheet = tmp_path / "sheet.json"

    benchmark(f"--sheet={sheet}", "--seed=1")

    rows = json.loads(sheet.read_text())
    assert [row["task"] for row in rows] == [goal, "Draw a picture of the moon."]
    sections = {line["section"] for line in rows[0]["lines"]}
    assert "memory" in sections
    assert not Exposure.objects.exists()
