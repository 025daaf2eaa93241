"""A session of Alice's project, and short ways to write and read it."""

from __future__ import annotations

import pytest


@pytest.fixture
def session_api(alice_api, project):
    return SessionApi(alice_api, project)


class SessionApi:
    """A client that names the project in each request."""

    def __init__(self, client, project):
        self.client = client
        self.project = str(project.pk)

    def post(self, path, **body):
        url = f"/api/v1/{path}"
        headers = body.pop("headers", None)
        body = {"project_id": self.project, **body}
        return self.client.post(url, body, format="json", headers=headers)

    def get(self, path, **query):
        return self.client.get(f"/api/v1/{path}", {"project_id": self.project, **query})

    def patch(self, path, **body):
        body = {"project_id": self.project, **body}
        return self.client.patch(f"/api/v1/{path}", body, format="json")

    def put(self, path, **body):
        body = {"project_id": self.project, **body}
        return self.client.put(f"/api/v1/{path}", body, format="json")

    def delete(self, path, **query):
        query = {"project_id": self.project, **query}
        address = "&".join(f"{name}={value}" for name, value in query.items())
        return self.client.delete(f"/api/v1/{path}?{address}")

    def bootstrap(self, key="main", **fields):
        body = {"key": key, "agent_id": "agent", **fields}
        answer = self.post("sessions", **body)
        assert answer.status_code in (200, 201), answer.json()
        return answer.json()

    def append(self, *messages, key="main", **fields):
        answer = self.post(f"sessions/{key}/messages", messages=messages, **fields)
        assert answer.status_code == 200, answer.json()
        return answer.json()

    def history(self, key="main", **query):
        answer = self.get(f"sessions/{key}/messages", limit=1000, **query)
        assert answer.status_code == 200, answer.json()
        return answer.json()["results"]

    def assemble(self, key="main", **fields):
        answer = self.post(f"sessions/{key}/assemble", **fields)
        assert answer.status_code == 200, answer.json()
        return answer.json()


def say(text, role="user", **fields):
    return {"role": role, "content": text, **fields}


def talk(count, words="The build failed because of a missing token", start=1):
    """Return messages of a user and an assistant in turn."""
    roles = ("user", "assistant")
    return [
        say(f"{words}, part {n}.", roles[n % 2]) for n in range(start, start + count)
    ]


def call(call_id, name="Bash", **arguments):
    part = {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}
    return {"role": "assistant", "parts": [part]}


def result(call_id, content, is_error=False):
    part = {
        "type": "tool_result",
        "id": call_id,
        "content": content,
        "is_error": is_error,
    }
    return {"role": "tool", "parts": [part]}
