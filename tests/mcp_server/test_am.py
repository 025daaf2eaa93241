"""`am` against the service itself: connect, the doctor's round trips, a hook, remove."""

from __future__ import annotations

import io
import json
import subprocess
from uuid import UUID

import pytest
from agent_memory import connections, hook
from agent_memory.command_line import app
from typer.testing import CliRunner

from access.models import ApiKey
from common.caller import Role
from conversations.models import Session
from memories.models import Memory
from playbook.models import PlaybookDelta

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def am(tmp_path, monkeypatch):
    """The command, in a repository and a home of its own, with Codex installed."""
    home, repository = tmp_path / "home", tmp_path / "shop"
    (home / ".codex").mkdir(parents=True)
    repository.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main", repository], check=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    for name in ("CODEX_HOME", "XDG_CONFIG_HOME", "AGENT_MEMORY_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(repository)
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


def test_a_project_is_connected_tried_used_and_disconnected(am, live_server, tmp_path):
    owner, secret = ApiKey.new(name="owner", role=Role.OWNER, everywhere=True)
    owner.save(force_insert=True)

    done = am("connect", "--server", live_server.url, "--key", secret, "--yes")
    assert done.exit_code == 0, done.output
    [entry] = connections.read().entries
    key = ApiKey.objects.get(pk=entry.key_id)
    assert (key.role, key.agent_id, key.everywhere) == (
        Role.WRITER,
        entry.agent_id,
        False,
    )

    found = {
        f["name"]: f for f in json.loads(am("doctor", "--json").stdout)["findings"]
    }
    for name in ("server", "versions", "key", "codex", "codex hook", "codex mcp"):
        assert found[name]["status"] == "ok", found[name]
    assert found["codex events"]["detail"] == "none has come yet"

    event = {
        "session_id": "s1",
        "cwd": str(tmp_path / "shop"),
        "hook_event_name": "SessionStart",
    }
    hook.run("session-start", "codex", io.BytesIO(json.dumps(event).encode()))
    assert Session.objects.get(key="s1").agent_id == entry.agent_id

    own = am("remember", "Sales are in thousands of euros.", "--json").stdout
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AGENT_MEMORY_KEY", secret)
        others = am("remember", "The port closes at noon.", "--json").stdout
    [own_id, others_id] = (json.loads(text)["id"] for text in (own, others))
    assert "Forgotten" in am("forget", own_id).output
    assert "proposed" in am("forget", others_id, "--reason", "It is open").output
    assert list(Memory.objects.exclude(deleted_at=None).values_list("pk")) == [
        (UUID(own_id),)
    ]
    proposal = PlaybookDelta.objects.get()
    assert (proposal.operation, str(proposal.memory_id)) == ("forget", others_id)

    rules = tmp_path / "rules.md"
    rules.write_text("- Never flatten a form before it is signed.\n")
    done = am("import", str(rules), "--format", "markdown")
    assert done.exit_code == 0, done.output
    assert PlaybookDelta.objects.get(operation="add").status == "pending"
    assert "0 skills in" in am("export", "--skills", str(tmp_path / "out")).stdout

    assert am("connect", "--remove", "--yes").exit_code == 0
    key.refresh_from_db()
    assert key.revoked_at
    assert list((tmp_path / "home/.codex").iterdir()) == []
