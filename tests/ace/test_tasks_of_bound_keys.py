"""A finished task of a key bound to a user belongs to that user, in every phase.

Alice and Bob have keys of one project that are bound to them; a service has one that is not.
"""

from __future__ import annotations

import pytest

from ace import reflector
from ace import run as runs
from ace.models import AceRun
from common.caller import Role
from jobs.models import Job
from memories.models import Memory
from playbook.models import PlaybookDelta, PlaybookEntry
from projects.models import Project

API = "/api/v1"
WORD = "quokkazed"
TASK = {
    "goal": f"Upload the {WORD} report",
    "result": "The report was uploaded.",
    "outcome": "success",
    "tool_usage": [
        {
            "tool_name": "Bash",
            "arguments": {"command": f"upload --bucket {WORD} report.csv"},
            "result": "error: unknown option --bucket",
        },
        {
            "tool_name": "Bash",
            "arguments": {"command": f"upload --to {WORD} report.csv"},
            "result": "uploaded",
        },
    ],
}


@pytest.fixture
def key_of(client_of, project):
    def make(user, role=Role.WRITER, **fields):
        return client_of(project, role=role, user_id=user, may_attest=True, **fields)

    return make


@pytest.fixture
def alice(key_of):
    return key_of("alice")


@pytest.fixture
def bob(key_of):
    return key_of("bob", Role.OWNER)


@pytest.fixture
def complete(project):
    def post(api, body=TASK, status=200, headers=None, **more):
        sent = {"project_id": str(project.pk), **body, **more}
        answer = api.post(f"{API}/complete-task", sent, headers=headers)
        assert answer.status_code == status, answer.content
        return answer.json()

    return post


@pytest.fixture
def automatic(project):
    Project.objects.filter(pk=project.pk).update(settings={"policy": "auto"})


def scope_of(result):
    return Memory.objects.get(pk=result["memory_id"]).scope


class TestScope:
    def test_it_is_the_users_own(self, alice, complete):
        assert scope_of(complete(alice)) == {"kind": "user", "user_id": "alice"}

    def test_without_a_binding_it_is_the_workspace(self, alice_api, complete, project):
        stored = {"kind": "workspace", "workspace_id": str(project.pk)}

        assert scope_of(complete(alice_api)) == stored

    @pytest.mark.parametrize(
        ("named", "stored"),
        [
            ({"kind": "user"}, {"kind": "user", "user_id": "alice"}),
            ({"kind": "workspace"}, {"kind": "workspace"}),
            ({"kind": "org"}, {"kind": "org"}),
            (
                {"kind": "session", "session_id": "s1"},
                {"kind": "session", "session_id": "s1", "user_id": "alice"},
            ),
        ],
        ids=str,
    )
    def test_a_named_one_is_stored(self, alice, complete, named, stored):
        found = scope_of(complete(alice, scope=named))

        assert {name: found[name] for name in stored} == stored

    @pytest.mark.parametrize(
        "named",
        [
            {"kind": "user", "user_id": "bob"},
            {"kind": "session", "session_id": "s1", "user_id": "bob"},
        ],
        ids=str,
    )
    def test_that_of_another_user_is_refused(self, alice, complete, named):
        complete(alice, scope=named, status=404)

        assert not Memory.objects.exists() and not AceRun.objects.exists()

    def test_a_service_writes_for_the_user_that_it_names(self, alice_api, complete):
        named = {"kind": "user", "user_id": "alice"}

        assert scope_of(complete(alice_api, scope=named)) == named

    def test_a_key_of_another_kind_is_refused(self, alice, complete):
        complete(alice, scope={"kind": "workspace", "user_id": "alice"}, status=400)

    def test_a_run_that_a_worker_finishes_keeps_it(
        self, alice, bob, complete, project, run_jobs
    ):
        answer = complete(alice, status=202, headers={"Prefer": "respond-async"})
        Job.objects.update(run_after="2020-01-01T00:00Z", lease_until=None)
        run_jobs()

        assert AceRun.objects.get(pk=answer["run_id"]).state == "done"
        assert WORD not in everything(bob, project)
        assert PlaybookDelta.objects.filter(run_id=answer["run_id"]).exists()

    def test_a_resumed_run_keeps_it(self, alice, bob, complete, project, monkeypatch):
        def fail(*args):
            raise OSError("away")

        monkeypatch.setitem(runs.PHASES, "reflector", fail)
        run = complete(alice)["run_id"]
        monkeypatch.setitem(runs.PHASES, "reflector", reflector.reflect)

        assert bob.post(f"{API}/runs/{run}/resume").status_code == 404
        answer = alice.post(f"{API}/runs/{run}/resume").json()
        assert scope_of(answer) == {"kind": "user", "user_id": "alice"}
        assert PlaybookDelta.objects.filter(run_id=run).exists()
        assert WORD not in everything(bob, project)


def everything(api, project):
    """All that the lists and the contexts of the project tell."""
    named = {"project_id": str(project.pk), "limit": 100}
    paths = ("runs", "proposals", "playbook/changes", "playbook/conflicts")
    paths += ("playbook", "memories", "tags", "files", "audit", "jobs")
    texts = [api.get(f"{API}/{path}", named).content for path in paths]
    asked = {"project_id": str(project.pk), "task_description": f"upload {WORD}"}
    texts.append(api.post(f"{API}/context", asked).content)
    return b"".join(texts).decode()


class TestOthers:
    @pytest.fixture
    def run(self, alice, complete):
        return complete(alice)["run_id"]

    def test_bob_does_not_see_the_run(self, run, bob, project):
        assert bob.get(f"{API}/runs/{run}").status_code == 404
        assert run not in everything(bob, project)

    def test_bob_does_not_see_what_it_teaches(self, run, bob, project):
        [delta] = PlaybookDelta.objects.filter(run_id=run)

        assert delta.status == "pending"
        assert bob.get(f"{API}/proposals/{delta.pk}").status_code == 404
        assert WORD not in everything(bob, project)

    def test_alice_and_the_owner_see_both(self, run, alice, alice_api, project):
        for api in (alice, alice_api):
            assert api.get(f"{API}/runs/{run}").status_code == 200
            assert WORD in everything(api, project)


class TestLearning:
    @pytest.mark.usefixtures("automatic")
    def test_a_private_lesson_waits_under_every_policy(self, alice, complete):
        [made] = complete(alice)["playbook_delta"]["operations"]

        delta = PlaybookDelta.objects.get(pk=made["delta_id"])
        assert delta.status == "pending"
        assert "the memory of one user" in delta.review_note
        assert not PlaybookEntry.objects.exists()

    @pytest.mark.usefixtures("automatic")
    def test_a_shared_one_does_not(self, alice, complete):
        shared = {"kind": "workspace"}
        result = complete(
            alice, scope=shared, feedback="1 passed", feedback_source="test"
        )
        [made] = result["playbook_delta"]["operations"]

        delta = PlaybookDelta.objects.get(pk=made["delta_id"])
        assert "the memory of one user" not in delta.review_note

    def test_the_same_lesson_of_two_users_names_neither(self, alice, bob, complete):
        first, second = complete(alice), complete(bob)
        [ours] = second["playbook_delta"]["operations"]

        told = bob.get(f"{API}/proposals/{ours['delta_id']}").content.decode()
        [theirs] = first["playbook_delta"]["operations"]
        assert theirs["delta_id"] not in told
        assert first["run_id"] not in told

    def test_the_same_lesson_of_one_user_waits_once(self, alice, complete):
        first, second = complete(alice), complete(alice, goal="Upload it once more")
        waiting = PlaybookDelta.objects.filter(status="pending")

        assert waiting.count() == 1
        assert first["playbook_delta"] != second["playbook_delta"]
