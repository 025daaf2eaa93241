"""A web process is killed with -9 while it streams an answer of the agent."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import closing

import pytest
from django.db import connection
from django.db.models import F

from agents.models import AgentRun
from agents.runs import heartbeat, interruption
from conversations.models import Message
from embedded import data_folder
from tests.agents.conftest import model as model
from tests.agents.runs import facts, said
from tests.agents.scripted_endpoint import say
from tests.conversations.conftest import SessionApi
from tests.faults.kill_replay import spare_port, wait_for

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(300),
]
LOOK_UP = 'Thought: I look.\nAction: RetrieveFacts\nArgs: {"query": "deploy"}'
LONG = "Thought: I know it.\nFinal Answer: The disk was full, and then more happened."


@pytest.fixture
def web(model, tmp_path):
    """A real web server on the database of the tests; its port, and what kills it."""
    port = spare_port()
    name = connection.settings_dict["NAME"]
    database = re.sub(
        r"(?<=/)[^/?]+(?=\?|$)", name, os.environ["DATABASE_URL"], count=1
    )
    assert f"/{name}" in database
    own = {
        "DATABASE_URL": database,
        "EMBEDDING_PROVIDER": "fake",
        "LANGUAGE_PROVIDER": "openai",
        "LANGUAGE_URL": model.url,
        "LANGUAGE_API_KEY": "secret",
        "LANGUAGE_MODEL": "small",
        "PROMETHEUS_MULTIPROC_DIR": str(tmp_path / "metrics"),
        "WEB_BIND": f"127.0.0.1:{port}",
        "WEB_PROCESSES": "1",
    }
    with (tmp_path / "web.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "gunicorn", "-c", "gunicorn.conf.py"],
            env=os.environ | own,
            cwd=data_folder.BASE_DIR,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )

    def kill():
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(30)

    def is_listening():
        if process.poll() is not None:
            raise RuntimeError((tmp_path / "web.log").read_text())
        return b"Listening at" in (tmp_path / "web.log").read_bytes()

    try:
        assert wait_for(is_listening)
        yield port, kill
    finally:
        kill()


def stream(port, client, **body):
    """Ask with streaming; yield the lines of the answer as they come."""
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {
        "Authorization": client._credentials["HTTP_AUTHORIZATION"],
        "Content-Type": "application/json",
    }
    with closing(link):
        link.request("POST", "/api/v1/agents/react-mem", json.dumps(body), headers)
        answer = link.getresponse()
        assert answer.status == 200, answer.read()
        while line := answer.readline():
            yield line.decode()


def test_the_run_is_there_once_with_its_steps_and_the_session_goes_on(
    web, model, alice_api, project, run_jobs
):
    port, kill = web
    model.script(say(LOOK_UP), say(LONG, piece=5, wait_at={9: threading.Event()}))
    asked = {
        "question": "Why did the deploy fail?",
        "user": "42",
        "conversation_id": "deploys",
        "project_id": str(project.pk),
        "enable_memory": True,
    }
    lines = stream(port, alice_api, streaming=True, **asked)
    while "event: answer" not in next(lines):
        pass
    kill()
    assert 'end_of_dialog": true' not in "".join(lines)

    run = AgentRun.objects.get()
    assert (run.status, run.answer) == ("running", "")
    assert interruption.mark_interrupted() == 0  # it may just be slow

    AgentRun.objects.update(alive_at=F("alive_at") - heartbeat.MAX_SILENCE)
    assert interruption.mark_interrupted() == 1
    assert interruption.mark_interrupted() == 0

    seen = alice_api.get(f"/api/v1/agents/runs/{run.pk}").json()
    assert (seen["status"], seen["error"]["type"]) == ("interrupted", "interrupted")
    assert [step["action"] for step in seen["steps"]] == ["RetrieveFacts"]
    assert roles() == ["user", "assistant", "tool"]

    model.script_json(said(), facts())
    run_jobs()
    model.script(say("Final Answer: 42"))
    api = SessionApi(alice_api, project)
    again = api.post("agents/react-mem", **asked | {"question": "And now?"}).json()

    assert (again["status"], again["answer"]) == ("done", "42")
    assert "Why did the deploy fail?" in model.prompts[-1]
    assert roles() == ["user", "assistant", "tool", "user", "assistant"]
    assert AgentRun.objects.count() == 2


def roles():
    return list(Message.objects.order_by("seq").values_list("role", flat=True))
