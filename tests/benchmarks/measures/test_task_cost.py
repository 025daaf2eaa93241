from __future__ import annotations

import pytest

from benchmarks.datasets.recorded_requests import RecordedRequest
from benchmarks.measures import task_cost, task_meter
from benchmarks.measures.task_meter import TaskCost


def recorded(source, name, goal="Fix it."):
    return RecordedRequest(source, name, {"goal": goal})


def test_all_traces_and_the_longest_tasks_of_sessions_are_measured():
    sessions = [recorded("sessions", f"s{n}", "x" * n) for n in range(30)]

    chosen = task_cost.select_tasks(iter([*sessions, recorded("airline", "a0")]))

    assert [task.name for task in chosen] == [
        "a0",
        *(f"s{n}" for n in range(29, 9, -1)),
    ]


class TestComparison:
    def compare(self):
        tasks = [recorded("airline", "a0"), recorded("airline", "a1")]
        rounds = [
            [(TaskCost(30, 40, 12), TaskCost(10, 20, 10)), (TaskCost(20, 30, 12),) * 2],
            [(TaskCost(40, 50, 14), TaskCost(50, 60, 16))],
        ]
        return task_cost.compare(tasks, rounds)

    def test_the_least_of_the_rounds_counts(self):
        (row,) = self.compare()

        assert row["here"]["cpu_ms"] == 30
        assert row["other"]["cpu_ms"] == 30
        assert row["here"]["cpu_p95_ms"] == 40

    def test_ratios_are_those_of_the_means(self):
        (row,) = self.compare()

        assert row["cpu_ratio"] == 1
        assert row["statements_ratio"] == round(13 / 13, 3)

    def test_the_highest_ratio_is_named(self):
        result = {"sets": self.compare(), "rounds": 2, "limit": 1.2}

        assert list(task_cost.remarks(result)) == [
            "highest ratio: 1.00 (at most 1.2); rounds: 2"
        ]


@pytest.mark.django_db(transaction=True)
def test_the_meter_counts_the_statements_of_a_task_and_of_its_context(project):
    request = {"agent_id": "coder", "goal": "Fix it.", "result": "Fixed."}
    cost = task_meter.measure_task(project, request)
    context = task_meter.measure_context(project, request)

    assert cost.statements > context.statements > 5
    assert cost.cpu_ms > 0
    assert context.cpu_ms > 0
