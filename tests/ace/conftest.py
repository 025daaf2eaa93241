"""A model server on loopback that says, in turn, what the test has written down."""

from __future__ import annotations

import json
import re

import pytest

from inference.language import attempts
from tests.inference.conftest import endpoint as endpoint
from tests.playbook.conftest import write as write

LESSON = (
    "When `git push` says that a branch has no upstream branch, run "
    "`git push --set-upstream origin` with the branch."
)
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


def lesson(**changed):
    """What a good model says of TASK."""
    return {
        "content": LESSON,
        "condition": "a branch has no upstream branch",
        "action": "run `git push --set-upstream origin`",
        "category": "gotchas",
        "root_cause": "ENV_SETUP",
        "quotes": [
            {"field": "tool_usage.0.result", "quote": QUOTE},
            {"field": "tool_usage.0.arguments", "quote": '"command": "git push"'},
            {"field": "tool_usage.1.arguments", "quote": MENDED},
        ],
        **changed,
    }


def reflection(*lessons, **changed):
    return {
        "reasoning": "The first push failed, the second one named the upstream.",
        "error_identification": "The branch had no upstream.",
        "root_cause": "ENV_SETUP",
        "correct_approach": "Name the upstream at the first push.",
        "key_insight": "A first push names its upstream.",
        "lessons": list(lessons),
        "entries": [],
        **changed,
    }


def placement(operation, *targets, content="", reason="They say the same."):
    return {
        "operation": operation,
        "targets": list(targets),
        "content": content,
        "reason": reason,
    }


def chat_response(answer, *, reason="stop", usage=(900, 120)):
    content = answer if isinstance(answer, str) else json.dumps(answer)
    message = {"role": "assistant", "content": content}
    read, written = usage
    return {
        "choices": [{"message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": read, "completion_tokens": written},
    }


def is_curator_request(body):
    return body["messages"][0]["content"].startswith("You keep the playbook")


class Script:
    """What the server answers in turn: an object, (status, headers, body), or "hang".

    The reflector and the curator have a queue each. An empty one of the reflector is a
    500; the curator then adds whatever it is asked about.
    """

    def __init__(self, endpoint):
        self.endpoint = endpoint
        self.replies = []
        self.placements = []
        endpoint.answer = self.reply

    def __call__(self, *replies):
        self.replies += replies

    def curator(self, *replies):
        self.placements += replies

    @property
    def requests(self):
        """What the reflector has asked."""
        return [r for r in self.endpoint.requests if not is_curator_request(r)]

    @property
    def prompts(self):
        return [request["messages"][1]["content"] for request in self.requests]

    @property
    def curator_prompts(self):
        """The curator's prompts."""
        requests = [r for r in self.endpoint.requests if is_curator_request(r)]
        return [request["messages"][1]["content"] for request in requests]

    def next(self, body):
        if not is_curator_request(body):
            return self.replies.pop(0) if self.replies else (500, {}, {})
        if self.placements:
            return self.placements.pop(0)
        keys = body["messages"][1]["content"].rpartition("each of: ")[2].strip(".")
        return {key: placement("add") for key in keys.split(", ")}

    def reply(self, body):
        reply = self.next(body)
        self.endpoint.status, self.endpoint.answer_headers = 200, {}
        if reply == "hang":
            return self.endpoint.hang(body)
        if isinstance(reply, tuple):
            self.endpoint.status, self.endpoint.answer_headers, answer = reply
            return answer
        is_whole = isinstance(reply, dict) and "choices" in reply
        return reply if is_whole else chat_response(reply)


@pytest.fixture
def model(settings, endpoint, monkeypatch):
    """A language model at a server that the test scripts: `model(reflection(...))`."""
    settings.LANGUAGE_PROVIDER = "openai"
    settings.LANGUAGE_URL = endpoint.url
    settings.LANGUAGE_API_KEY = "secret"
    settings.LANGUAGE_MODEL = "small"
    settings.LANGUAGE_TIMEOUT = 20
    monkeypatch.setattr(attempts, "PAUSES", (0.01, 0.01))
    return Script(endpoint)


@pytest.fixture
def complete(alice_api, project):
    def post(**changed):
        sent = {"project_id": str(project.pk), **TASK, **changed}
        answer = alice_api.post("/api/v1/complete-task", sent)
        assert answer.status_code == 200, answer.json()
        return answer.json()

    return post


def marker_of(prompt):
    return re.findall(r"^==== (\w+) end$", prompt, re.MULTILINE)[-1]
