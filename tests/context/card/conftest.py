from __future__ import annotations

from itertools import count

import pytest


@pytest.fixture
def complete(project):
    number = count(1)

    def complete(api, *calls, **more):
        task = {
            "project_id": str(project.pk),
            "goal": f"Mend the cart, round {next(number)}",
            "result": "It is done.",
            "tool_usage": list(calls),
        }
        answer = api.post("/api/v1/complete-task", task | more, format="json")
        assert answer.status_code == 200, answer.json()
        return answer.json()

    return complete


@pytest.fixture
def card(project):
    def card(api):
        body = {"project_id": str(project.pk), "parts": ["card"]}
        return api.post("/api/v1/context", body, format="json")

    return card
