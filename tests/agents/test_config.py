"""The settings `agent-mem` of seed 004."""

from __future__ import annotations

import pytest

from agents.serializers.config import HELP
from audit.models import AuditEvent
from common.caller import Role
from projects.models import Project
from projects.options import AgentSettings

pytestmark = pytest.mark.django_db
URL = "/api/v1/agents/config"
DEFAULTS = {
    "max-iterations": 10,
    "working-memory-threshold": 2_000,
    "fact-retrieval-top-k": 5,
    "episode-retrieval-top-k": 3,
    "enable-auto-fact-extraction": True,
    "enable-episode-recording": True,
    "additional-context": "",
    "protocol": "text",
    "keep-last-steps": 4,
    "max-seconds": 300,
    "conversation-timeout": 30,
    "token-budget": 16_000,
    "templates": {},
}


@pytest.fixture
def read(alice_api, project):
    return lambda api=alice_api: api.get(URL, {"project_id": str(project.pk)})


@pytest.fixture
def put(alice_api, project):
    def put(api=alice_api, **names):
        body = {name.replace("_", "-"): value for name, value in names.items()}
        body["collection"] = str(project.pk)
        return api.put(URL, body, format="json")

    return put


def test_it_has_the_seeds_names_and_defaults(read, project):
    answer = read()

    assert answer.status_code == 200
    assert answer.json() == {
        **DEFAULTS,
        "project_id": str(project.pk),
        "error": None,
    }


def test_a_put_replaces_all(read, put, project):
    put(max_iterations=3, additional_context="You sell tea.")
    answer = put(protocol="tools")

    assert answer.json()["protocol"] == "tools"
    assert answer.json()["max-iterations"] == 10
    assert read().json() == answer.json()
    options = Project.objects.get(pk=project.pk).options.agents
    assert (options.protocol, options.additional_context) == ("tools", "")


def test_null_is_the_default(put):
    put(max_iterations=3)

    assert put(max_iterations=None).json()["max-iterations"] == 10


def test_templates_are_replaced_as_a_whole(put):
    put(templates={"facts": "Known:\n$items", "rules": "Rules:\n$items"})

    assert put(templates={"facts": "Facts:\n$items"}).json()["templates"] == {
        "facts": "Facts:\n$items"
    }
    assert put().json()["templates"] == {}


def test_a_change_is_audited_as_one_of_the_settings(put, project):
    put(max_iterations=3)

    event = AuditEvent.objects.get(verb="project.changed")
    assert event.object_id == str(project.pk)
    assert event.before_hash != event.after_hash


def test_the_other_settings_stay(put, project):
    project.settings = {"policy": "manual"}
    project.save()

    put(max_iterations=3)

    assert Project.objects.get(pk=project.pk).settings == {
        "policy": "manual",
        "agents": {"max_iterations": 3},
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max-iterations", 0),
        ("max-iterations", 101),
        ("working-memory-threshold", 1),
        ("fact-retrieval-top-k", 51),
        ("enable-episode-recording", "perhaps"),
        ("protocol", "smoke"),
        ("token-budget", 499),
        ("additional-context", "x" * 20_001),
        ("templates", {"facts": "nothing"}),
        ("templates", {"unknown": "$items"}),
        ("templates", "text"),
    ],
)
def test_a_wrong_value_is_refused_under_its_own_name(put, name, value):
    answer = put(**{name: value})

    assert answer.status_code == 400
    assert any(path.startswith(name) for path in answer.json()["errors"])
    assert answer.json()["error"]["type"] == answer.json()["code"]


def test_an_unknown_name_is_refused(put):
    answer = put(max_iteration=3)

    assert answer.status_code == 400
    assert answer.json()["code"] == "unknown_field"


def test_only_an_owner_writes_and_a_viewer_reads(
    put, read, bob_api, client_of, project
):
    viewer = client_of(project, role=Role.VIEWER)

    assert put(bob_api, protocol="tools").status_code == 403
    assert read(viewer).status_code == 200


def test_a_key_bound_to_a_user_does_not_write(put, client_of, project):
    bound = client_of(project, role=Role.OWNER, user_id="mia")

    assert put(bound, protocol="tools").status_code == 403


def test_charlie_gets_a_404(read, put, charlie_api):
    assert read(charlie_api).status_code == 404
    assert put(charlie_api).status_code == 404


def test_every_setting_of_the_agent_has_a_name(read):
    assert set(HELP) <= set(AgentSettings.model_fields)
    assert {name.replace("_", "-") for name in HELP} == set(DEFAULTS)
