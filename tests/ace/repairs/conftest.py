"""Tasks with a failed call and its cure, reported as several people."""

from __future__ import annotations

from itertools import count

import pytest

from common.caller import Role

ERROR = "flag provided but not defined: -tag\nusage: go test [build flags]"
FAILED, CURED = "go test -tag=it ./ledger", "go test -tags=it ./ledger"


def bash(command, result="ok", **more):
    return {"tool_name": "Bash", "arguments": {"command": command}, "result": result} | more  # fmt: skip


REPAIR = [bash(FAILED, ERROR), bash(CURED)]


@pytest.fixture
def complete(project):
    """Report a task; each is a session of its own unless the test names one."""
    number = count(1)

    def complete(api, calls=REPAIR, **more):
        task = {
            "project_id": str(project.pk),
            "goal": f"Test the ledger, round {next(number)}",
            "result": "It is tested.",
            "tool_usage": calls,
        }
        answer = api.post("/api/v1/complete-task", task | more, format="json")
        assert answer.status_code == 200, answer.json()
        return answer.json()

    return complete


@pytest.fixture
def fix(project):
    """Return the fix that a caller is given, or None."""

    def fix(api, command=FAILED, error=ERROR, **more):
        call = {"tool": "Bash", "arguments": {"command": command}, "error": error}
        names = more.keys() & {"tool", "arguments", "cwd"}
        call |= {name: more.pop(name) for name in names}
        body = {"project_id": str(project.pk), "parts": ["fix"], "failed": call}
        answer = api.post("/api/v1/context", body | more, format="json")
        assert answer.status_code == 200, answer.json()
        return answer.json()["fix"]

    return fix


@pytest.fixture
def carol_api(client_of, project):
    return client_of(project, role=Role.WRITER)


@pytest.fixture
def dora_api(client_of, project):
    return client_of(project, role=Role.WRITER)
