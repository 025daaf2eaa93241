"""A client that a generator writes from the schema works as it is."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import call_command

from access.models import ApiKey
from common.caller import Role
from playbook.models import PlaybookDelta

GENERATOR = Path(sys.executable).with_name("openapi-python-client")
PACKAGE = "generated_client"


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The client, written from the schema and imported without a change."""
    folder = tmp_path_factory.mktemp("client")
    schema, settings = folder / "schema.yml", folder / "settings.yml"
    call_command("spectacular", file=str(schema))
    settings.write_text("post_hooks: []\n")
    command = [GENERATOR, "generate", "--path", schema, "--config", settings]
    options = ["--output-path", folder / PACKAGE, "--meta", "none", "--fail-on-warning"]
    done = subprocess.run([*command, *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    sys.path.insert(0, str(folder))
    yield PACKAGE
    sys.path.remove(str(folder))


@pytest.fixture
def client(package, live_server, project):
    key, secret = ApiKey.new(name="client", role=Role.OWNER, may_attest=True)
    key.save()
    key.projects.set([project])
    kind = importlib.import_module(f"{package}.client").AuthenticatedClient
    return kind(base_url=live_server.url, token=secret)


@pytest.fixture
def call(package, client):
    """Call an operation with a body, which is read by the client's own model."""

    def call(operation, model, body, *ids):
        module = importlib.import_module(f"{package}.api.{operation}")
        models = importlib.import_module(f"{package}.models")
        sent = getattr(models, model).from_dict(body)
        return module.sync_detailed(*ids, client=client, body=sent)

    return call


def test_each_of_its_modules_is_imported(package):
    found = importlib.import_module(package)
    names = [each.name for each in pkgutil.walk_packages(found.__path__, f"{package}.")]

    for name in names:
        importlib.import_module(name)

    assert {f"{package}.api.search.search", f"{package}.models.user_scope"} <= {*names}


@pytest.mark.django_db(transaction=True)
def test_it_stores_searches_reports_a_task_and_rejects(call, project):
    named = {"project_id": str(project.pk)}
    memory = {"content": "The gate closes at six."}
    scope = {"scope": {"kind": "user", "user_id": "u1"}}
    task = {
        "agent_id": "coder",
        "goal": "Close the gate",
        "result": "It is closed.",
        "outcome": "success",
        "feedback": "Always close the gate before six.",
        "feedback_source": "agent",
    }

    stored = call("memories.memories_create", "CreateMemoryRequest", named | memory)
    private = call(
        "memories.memories_create",
        "CreateMemoryRequest",
        named | scope | memory | {"content": "The key is under the mat."},
    )
    found = call(
        "search.search", "SearchRequestRequest", named | {"query": "gate closes"}
    )
    done = call("complete_task.complete_task", "CompleteTaskRequest", named | task)
    delta = PlaybookDelta.objects.pending().get()
    rejected = call(
        "playbook.playbook_deltas_reject",
        "RejectDeltaRequest",
        {"reason": "It is no rule.", "reason_code": "too_vague"},
        delta.pk,
    )

    codes = [a.status_code for a in (stored, private, found, done, rejected)]
    assert codes == [201, 201, 200, 200, 200]
    assert private.parsed.memory.scope.user_id == "u1"
    assert private.parsed.memory.memory_type == "learning"
    assert [hit.memory.id for hit in found.parsed.hits] == [stored.parsed.memory.id]
    delta.refresh_from_db()
    assert delta.status == "rejected"
