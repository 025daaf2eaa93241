from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import call_command

from projects.models import Project

TASK = {
    "goal": "Mend the login page",
    "result": "It redirects again.",
    "is_solved": False,
    "reflections": ["Always run the linter before committing."],
}


@pytest.fixture
def data(tmp_path):
    for name in ("finer", "traces"):
        (tmp_path / name).mkdir()
    questions = [
        {
            "entity": str(n),
            "sentence": f"Rent of the office in town {n} was $ {n} million .",
            "tag": "RentExpense",
        }
        for n in range(30, 34)
    ]
    (tmp_path / "finer" / "questions.jsonl").write_text(
        "\n".join(map(json.dumps, questions))
    )
    (tmp_path / "finer" / "tags.txt").write_text("LoanFaceAmount\nRentExpense")
    (tmp_path / "traces" / "runs.jsonl").write_text(json.dumps(TASK) + "\n")
    return tmp_path


@pytest.fixture
def benchmark(data, tmp_path):
    def run(*arguments):
        out = StringIO()
        numbers = tmp_path / "numbers.json"
        call_command(
            "benchmark",
            "growth",
            "--in-place",
            f"--data={data}",
            f"--json={numbers}",
            *arguments,
            stdout=out,
        )
        return json.loads(numbers.read_text()), out.getvalue()

    return run


@pytest.mark.django_db(transaction=True)
class TestCommand:
    def test_a_row_for_each_tenth_of_the_tasks(self, benchmark):
        numbers, printed = benchmark("--tasks=20")

        assert [row["tasks"] for row in numbers["windows"]] == list(range(2, 22, 2))
        assert "entries after 20" in printed
        assert not Project.objects.exists()

    def test_repeated_tasks_add_nothing_more(self, benchmark):
        numbers, _ = benchmark("--tasks=20")

        half, last = numbers["windows"][4], numbers["windows"][-1]
        assert last["entries"] == half["entries"]
        assert last["tokens"] <= numbers["budget"]

    def test_it_fills_the_project_beforehand(self, benchmark):
        numbers, _ = benchmark("--tasks=10", "--memories=5", "--entries=3")

        assert numbers["windows"][0]["entries"] >= 3
