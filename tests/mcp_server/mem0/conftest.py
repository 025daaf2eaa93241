"""A client that sends what mem0's Python client 2.2.1 sends, through the test client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from common.caller import Role


@dataclass
class Mem0Client:
    """The methods of mem0's client by their names; each returns the parsed answer."""

    api: Any
    base: str = ""

    def call(self, method, path, body=None, status=200, **query):
        kind = {"QUERY_STRING": "&".join(f"{k}={v}" for k, v in query.items())}
        answer = getattr(self.api, method)(
            f"{self.base}{path}", body, format="json", **kind
        )
        assert answer.status_code == status, answer.content
        return answer.json()

    def ping(self, **more):
        return self.call("get", "/v1/ping/", **more)

    def add(self, messages, status=200, **options):
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        body = {"messages": messages, **options}
        return self.call("post", "/v3/memories/add/", body, status)

    def add_one(self, text, **options):
        """Store one message as it is; return its id."""
        (found,) = self.add(text, infer=False, **options)["results"]
        return found["id"]

    def search(self, query, status=200, **options):
        body = {"query": query, **options}
        return self.call("post", "/v3/memories/search/", body, status)

    def get_all(self, status=200, page=None, page_size=None, **options):
        query = {"page": page, "page_size": page_size}
        query = {name: value for name, value in query.items() if value}
        return self.call("post", "/v3/memories/", options, status, **query)

    def texts(self, **filters):
        return {each["memory"] for each in self.get_all(filters=filters)["results"]}

    def get(self, memory_id, status=200):
        return self.call("get", f"/v1/memories/{memory_id}/", status=status)

    def update(self, memory_id, status=200, **changes):
        return self.call("put", f"/v1/memories/{memory_id}/", changes, status)

    def delete(self, memory_id, status=200, **query):
        path = f"/v1/memories/{memory_id}/"
        return self.call("delete", path, status=status, **query)

    def delete_all(self, status=200, **query):
        return self.call("delete", "/v1/memories/", status=status, **query)

    def history(self, memory_id, status=200):
        return self.call("get", f"/v1/memories/{memory_id}/history/", status=status)


@pytest.fixture
def mem0_of(client_of):
    """Make a client for a new key: `mem0_of(project, role=Role.WRITER)`."""

    def make(*projects, role=Role.WRITER, base="", **fields):
        api = client_of(*projects, role=role, **fields)
        header = api._credentials["HTTP_AUTHORIZATION"]
        api.credentials(HTTP_AUTHORIZATION=header.replace("Bearer", "Token"))
        return Mem0Client(api, base)

    return make


@pytest.fixture
def bob_mem0(mem0_of, project):
    return mem0_of(project)


@pytest.fixture
def alice_mem0(mem0_of, project):
    return mem0_of(project, role=Role.OWNER)


@pytest.fixture
def charlie_mem0(mem0_of, other_project):
    return mem0_of(other_project, role=Role.OWNER)
