"""A real Codex, with the settings of the page Connect and no program of ours."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from console.connect import harness_forms
from mcp_server.models import HookCount, Push
from tests.outside.scripted_model import call, say, scripted_model
from tests.outside.test_codex import (
    CONFIG,
    FAILING,
    FIX,
    PROMPT,
    REPORT,
    WORKING,
    given,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(300),
]
RULE = "Name each report after its quarter."


@pytest.fixture
def session(codex, live_server, project, secret, tmp_path):
    """Run a session of Codex; return the items of each request to its model."""
    home = tmp_path / "home"
    folder = home / "shop"
    folder.mkdir(parents=True)
    (folder / "report.sh").write_text(REPORT)
    (folder / "report.sh").chmod(0o755)
    forms = harness_forms.fill(live_server.url, project)
    [form] = [form for form in forms if form.name == "codex"]
    settings = {file.path: file.text for file in form.files}
    place = home / ".codex"
    place.mkdir()
    (place / "config.toml").write_text(CONFIG + settings["~/.codex/config.toml"])
    (place / "hooks.json").write_text(settings["~/.codex/hooks.json"])
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "CODEX_HOME": str(place)}

    def run(*commands, key=secret):
        turns = [call(f"call-{n}", each) for n, each in enumerate(commands)]
        with scripted_model([*turns, say("The report is done.")]) as (url, sent):
            provider = f"model_providers.loopback.base_url={json.dumps(url)}"
            command = [codex, "exec", "--dangerously-bypass-hook-trust"]
            command += ["--skip-git-repo-check", "-c", provider, PROMPT]
            subprocess.run(
                command,
                cwd=folder,
                env=env | {harness_forms.key_variable(): key},
                check=True,
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=100,
            )
        return [[json.dumps(item) for item in each["input"]] for each in sent]

    return run


def test_the_rules_arrive_in_the_first_request(session, alice_api, project):
    body = {"project_id": str(project.pk), "content": RULE, "category": "patterns"}
    assert alice_api.post("/api/v1/playbook/rules", body).status_code == 201

    first, *_ = session(FAILING)

    assert given(first, RULE)
    # Its MCP servers are ready before the start; otherwise the prompt would give the same.
    assert set(Push.objects.values_list("event", flat=True)) == {"session-start"}
    kinds = set(HookCount.objects.values_list("event", flat=True))
    assert kinds == {"session-start", "prompt", "tool"}


def test_a_known_fix_is_given_at_the_failing_call(session, secret, client, project):
    steps = [(FAILING, "report: unknown flag: --by"), (WORKING, "north,12")]
    calls = [
        {"tool_name": "Bash", "arguments": {"command": command}, "result": result}
        for command, result in steps
    ]
    task = {"project_id": str(project.pk), "session_id": "earlier"}
    task |= {"goal": PROMPT, "result": "Done."}
    answer = client.post(
        "/api/v1/complete-task",
        task | {"tool_usage": calls},
        "application/json",
        headers={"Authorization": f"Bearer {secret}"},
    )
    assert answer.status_code == 200, answer.content

    first, after = session(FAILING)

    assert given(after, FIX)
    assert not given(first, FIX)


def test_a_key_that_is_refused_stops_no_session(session):
    assert len(session(FAILING, key="am_ended")) == 2
    assert not HookCount.objects.exists()
