from __future__ import annotations

import pytest

from tests.playbook.conftest import write as write

QUOTE = "The current branch release/2.4 has no upstream branch."
MENDED = "git push --set-upstream origin release/2.4"
TASK = {
    "agent_id": "coder",
    "goal": "Push the release branch of the billing service",
    "result": "The branch was pushed and the pipeline is green.",
    "outcome": "success",
    "feedback": "The pipeline took a while, but it is fine.",
    "feedback_source": "environment",
    "tool_usage": [
        {
            "tool_name": "Bash",
            "arguments": {"command": "git push"},
            "result": f"fatal: {QUOTE}",
        },
        {
            "tool_name": "Bash",
            "arguments": {"command": MENDED},
            "result": "branch 'release/2.4' set up to track 'origin/release/2.4'.",
        },
    ],
}


@pytest.fixture
def complete(alice_api, project):
    def post(**changed):
        sent = {"project_id": str(project.pk), **TASK, **changed}
        answer = alice_api.post("/api/v1/complete-task", sent)
        assert answer.status_code == 200, answer.json()
        return answer.json()

    return post
