from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection

from ace.models import AceRun, Reflection
from common.caller import Role
from common.errors import Refusal
from jobs import broker
from memories.models import Memory
from playbook.models import Playbook, PlaybookChange, PlaybookDelta, PlaybookEntry


@pytest.fixture(autouse=True)
def _the_broker_is_back():
    yield
    broker.BrokerOutage.until = 0.0


@pytest.fixture
def together():
    """Run functions at the same time in threads; return their answers or refusals."""

    def at_once(*acts):
        start = Barrier(len(acts))

        def run(act):
            start.wait()
            try:
                return act()
            except Refusal as refusal:
                return refusal
            finally:
                connection.close()

        with ThreadPoolExecutor(len(acts)) as pool:
            return list(pool.map(run, acts))

    return at_once


@pytest.fixture
def task(project):
    """A task with a lesson from a repaired call, files and a vote."""
    return {
        "project_id": str(project.pk),
        "goal": "Rename the option in src/options.py",
        "result": "The option is renamed and the tests pass",
        "feedback": "3 passed. Always pass `path` to edit_file.",
        "feedback_source": "test",
        "outcome": "success",
        "tool_usage": [
            {
                "tool_name": "edit_file",
                "arguments": {"file": "src/options.py", "text": "verbose"},
                "result": "TypeError: edit_file() got an unexpected keyword argument 'file'",
                "status": "error",
            },
            {
                "tool_name": "edit_file",
                "arguments": {"path": "src/options.py", "text": "verbose"},
                "result": "ok",
                "status": "success",
            },
        ],
    }


@pytest.fixture
def rule(client_of, project):
    """An entry that a task may cite."""
    body = {
        "project_id": str(project.pk),
        "content": "Run the tests after each change of `src/options.py`.",
        "category": "best_practices",
    }
    answer = client_of(project, role=Role.CURATOR).post("/api/v1/playbook/rules", body)
    return answer.json()["entry"]["id"]


def tally(project):
    """Count what a project contains; a repetition must not change the numbers."""
    entries = PlaybookEntry.objects.light().filter(project=project)
    changes = PlaybookChange.objects.filter(project_id=project.pk)
    return {
        "memories": Memory.objects.filter(project=project).count(),
        "runs": sorted(AceRun.objects.values_list("state", flat=True)),
        "reflections": Reflection.objects.filter(project=project).count(),
        "deltas": sorted(
            PlaybookDelta.objects.filter(project=project).values_list(
                "operation", "status"
            )
        ),
        "changes": sorted(changes.values_list("action", "operation")),
        "votes": sorted(
            entries.values_list("content", "helpful", "harmful", "neutral")
        ),
        "revision": Playbook.objects.get(project=project).revision,
    }
