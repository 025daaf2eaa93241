"""A real Codex, connected by `am connect`, learns from a session and is told in the next."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from access.models import ApiKey
from common.caller import Caller, Role
from conversations.messages.receive_transcript import KIND
from conversations.models import Session
from jobs.models import Job
from playbook.models import PlaybookDelta
from playbook.review import decide
from tests.outside.scripted_model import call, say, scripted_model

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(300),
]

AM = Path(__file__).parents[2] / "client" / "agent_memory" / "__main__.py"
PROMPT = "Write the report of sales by region"
# It knows `--group-by`, and not `--by`.
REPORT = """#!/bin/sh
[ "$1" = "--by" ] && { echo "report: unknown flag: --by" >&2; exit 2; }
echo "north,12"
"""
FAILING, WORKING = "./report.sh --by region", "./report.sh --group-by region"
FIX = '\\"--group-by\\" instead of \\"--by\\"'
CONFIG = """
model = "scripted"
model_provider = "loopback"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.loopback]
name = "loopback"
base_url = "http://127.0.0.1:1/v1"
wire_api = "responses"
"""


@pytest.fixture
def person(codex, live_server, tmp_path):
    """Connect a person's own Codex to the project `shop`; return what runs a session."""

    def connect(name):
        # Keys that one key issued are of one person.
        owner, secret = ApiKey.new(name=name, role=Role.OWNER, everywhere=True)
        owner.save(force_insert=True)
        home = tmp_path / name
        folder = home / "shop"
        folder.mkdir(parents=True)
        (home / ".codex").mkdir()
        (home / ".codex" / "config.toml").write_text(CONFIG)
        subprocess.run(["git", "init", "-q", folder], check=True)
        (folder / "report.sh").write_text(REPORT)
        (folder / "report.sh").chmod(0o755)
        known = {"HOME": str(home), "CODEX_HOME": str(home / ".codex")}
        env = {"PATH": os.environ["PATH"]} | known
        command = [sys.executable, AM, "connect", "--yes", "--harness", "codex"]
        command += ["--server", live_server.url, "--key", secret, "--agent-id", name]
        subprocess.run(command, cwd=folder, env=env, check=True, capture_output=True)

        def run(*commands):
            turns = [call(f"call-{n}", each) for n, each in enumerate(commands)]
            with scripted_model([*turns, say("The report is done.")]) as (url, sent):
                provider = f"model_providers.loopback.base_url={json.dumps(url)}"
                command = [codex, "exec", "--dangerously-bypass-hook-trust"]
                command += ["--skip-git-repo-check", "-c", provider, PROMPT]
                subprocess.run(
                    command,
                    cwd=folder,
                    env=env,
                    check=True,
                    capture_output=True,
                    stdin=subprocess.DEVNULL,
                    timeout=100,
                )
            return [json.dumps(item) for item in sent[-1]["input"]]

        return run

    return connect


def wait_for(condition):
    """Wait until a transcript that is sent in the background has come."""
    tick, end = threading.Event(), time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "it did not come"
        tick.wait(0.1)


def learn(run_jobs, sessions):
    """Run the jobs that the ends of so many sessions leave."""
    ended = Session.objects.filter(metadata__has_key="ended_at")
    wait_for(lambda: ended.count() == sessions)
    wait_for(lambda: Job.objects.filter(kind=KIND).count() >= sessions)
    run_jobs()


def given(items, words):
    return [item for item in items if "<agent-memory>" in item and words in item]


def test_a_fix_is_given_to_the_same_person_at_once_and_to_others_once_accepted(
    person, run_jobs
):
    of_alice = person("alice")
    first = of_alice(FAILING, WORKING)
    assert not given(first, "--group-by")
    learn(run_jobs, 1)

    session = Session.objects.get()
    texts = list(session.messages.values_list("text", flat=True))
    assert any(PROMPT in text for text in texts)
    proposal = PlaybookDelta.objects.get(status="pending")
    assert "use `--group-by` instead of `--by`" in proposal.content

    assert given(of_alice(FAILING), FIX)
    assert not given(person("bob")(FAILING), FIX)

    alice = Caller(name="alice", roles={proposal.project_id: Role.OWNER})
    decide.accept(proposal, alice)
    assert given(person("carol")(FAILING), FIX)
