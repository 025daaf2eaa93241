"""Every tool of MCP as Charlie, and as another user of the project."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from common.caller import Role
from conversations.models import Message
from mcp_server.tools import TOOLS
from tests.isolation import world as worlds
from tests.isolation.test_secrets_at_every_route import TOKEN, stored_in
from tests.isolation.world import MARK, World, rows_of, undone

pytestmark = pytest.mark.django_db
SCOPE = {"kind": "user"}
EVERYWHERE = ["memories", "rules", "messages"]
REASON = "It is of no more use to anybody."


@dataclass(frozen=True)
class Call:
    """A call of a tool with the ids of a world; `texts` are its arguments of free text."""

    tool: str
    arguments: Callable[[World], Mapping[str, Any]]
    texts: tuple[str, ...] = ()


def event(name, **fields):
    payload = {"hook_event_name": name, "session_id": "s1", "cwd": "/app", **fields}
    return {"harness": "claude-code", "payload": payload}


CALLS = (
    Call(
        "context",
        lambda w: {"task": "Deploy with the blue script of the harbour"},
        ("task",),
    ),
    Call(
        "search",
        lambda w: {"query": "harbour script night", "where": EVERYWHERE},
        ("query",),
    ),
    Call("search", lambda w: {"query": "harbour", "file_paths": [w.file]}),
    Call(
        "fetch", lambda w: {"ids": [w.memory, w.other, w.sensitive, w.entry, w.message]}
    ),
    Call("fetch", lambda w: {"id": w.memory}),
    Call("fetch", lambda w: {"id": w.entry}),
    Call("fetch", lambda w: {"id": w.message}),
    Call(
        "remember",
        lambda w: {"content": "A new memory of the team about cranes"},
        ("content", "title", "key"),
    ),
    Call("forget", lambda w: {"id": w.memory, "reason": REASON}, ("reason",)),
    Call("forget", lambda w: {"id": w.entry, "reason": REASON}, ("reason",)),
    Call(
        "complete_task",
        lambda w: {"goal": "Paint the cranes", "cited": [w.entry]},
        ("goal", "result", "feedback", "session_id"),
    ),
    Call(
        "feedback",
        lambda w: {"id": w.entry, "vote": "harmful", "note": REASON},
        ("note",),
    ),
    Call(
        "propose_rule",
        lambda w: {"text": "Paint cranes green.", "evidence": "Cranes are green."},
        ("text", "evidence"),
    ),
    Call(
        "propose_rule",
        lambda w: {"text": "Go.", "evidence": "harbour", "memory_id": w.memory},
    ),
    Call("hook", lambda w: event("SessionStart", source="startup")),
    Call(
        "hook",
        lambda w: event(
            "UserPromptSubmit", prompt="Deploy with the script of the harbour"
        ),
    ),
)
# The calls whose ids name what only the user has.
PRIVATE = tuple(call for call in CALLS if call.tool in ("fetch", "forget"))


def send(client, call, world, path, **more):
    """Return the text of an answer without what its request has."""
    arguments = dict(call.arguments(world)) | more
    message = {"name": call.tool, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": message}
    answer = client.post(path, body, headers={"MCP-Protocol-Version": "2025-06-18"})
    assert answer.status_code < 500, answer.content
    text = answer.content.decode()
    assert "internal: " not in text, text
    for typed in json.dumps(arguments).split('"'):
        text = text.replace(typed, "") if len(typed) > 8 else text
    return answer.status_code, text


def add_message(world):
    """Add the id of a message of the world's session."""
    world.ids["message"] = Message.objects.filter(session=world.session)[0].pk
    return world


@pytest.fixture
def hers(alices):
    return add_message(alices)


def test_every_tool_is_called():
    assert {call.tool for call in CALLS} == {tool.name for tool in TOOLS}


class TestCharlie:
    @pytest.fixture
    def charlie(self, client_of, other_project):
        return client_of(other_project, role=Role.OWNER)

    def test_it_reads_nothing_and_changes_nothing(self, hers, charlie):
        before, wrong = rows_of(hers.project), []
        for call in CALLS:
            for name in (hers.project.pk, hers.project.name):
                status, text = send(charlie, call, hers, f"/mcp/{name}")
                if status != 404 or MARK in text:
                    wrong.append(f"{call.tool}: {status} {text}")
            with undone():
                _, text = send(charlie, call, hers, "/mcp")
                if MARK in text:
                    wrong.append(f"{call.tool} tells {text}")
                if rows_of(hers.project) != before:
                    wrong.append(f"{call.tool} changes a row")

        assert not wrong, "\n".join(wrong)

    def test_alice_herself_reads_the_word(self, hers, client_of):
        alice = client_of(hers.project, role=Role.OWNER)
        told = [
            call.tool for call in CALLS if MARK in send(alice, call, hers, "/mcp")[1]
        ]

        assert {"context", "search", "fetch"} <= set(told)


class TestAnotherUser:
    """u2 has a key of the same project, and never sees what is u1's."""

    @pytest.fixture
    def kept(self, client_of, project, monkeypatch):
        worlds.let_agents_run(monkeypatch)
        u1 = client_of(project, role=Role.OWNER, user_id="u1")
        private = worlds.private_part(u1, project, MARK, scope=SCOPE)
        task = worlds.private_task(u1, project, MARK, SCOPE)
        # A stranger's entry is shared by all; here it stands for the run of the task.
        ids = {"project_id": project.pk, **private, "run": task["run"]}
        return add_message(World(project, MARK, ids | {"entry": task["memory"]}))

    def test_it_reads_nothing_and_changes_nothing(self, kept, client_of):
        before, wrong = rows_of(kept.project), []
        u2 = client_of(kept.project, role=Role.OWNER, user_id="u2")
        for call in CALLS:
            with undone():
                _, text = send(u2, call, kept, "/mcp")
                if MARK in text:
                    wrong.append(f"{call.tool} tells {text}")
                if call in PRIVATE and rows_of(kept.project) != before:
                    wrong.append(f"{call.tool} changes a row")

        assert not wrong, "\n".join(wrong)

    def test_u1_reads_its_own(self, kept, client_of):
        u1 = client_of(kept.project, role=Role.OWNER, user_id="u1")
        told = [call.tool for call in CALLS if MARK in send(u1, call, kept, "/mcp")[1]]

        assert {"context", "search", "fetch"} <= set(told)


def test_no_tool_stores_a_secret_of_its_arguments(hers, client_of):
    alice, wrong = client_of(hers.project, role=Role.OWNER), []
    for call in CALLS:
        for name in call.texts:
            with undone():
                send(alice, call, hers, "/mcp", **{name: f"The token is {TOKEN}."})
                if found := stored_in(TOKEN):
                    wrong.append(f"{call.tool} {name}: {found}")

    assert not wrong, "\n".join(wrong)
