"""Whose repairs a caller may read: projects, users, scopes, purges."""

from __future__ import annotations

import pytest
from django.utils import timezone

from ace.models import BannerLine, ObservedRepair
from ace.run_removal import remove
from common.caller import Role
from jobs.models import Job
from jobs.runner import HANDLERS, JobRun
from memories.models import Memory
from tests.ace.repairs.conftest import ERROR, FAILED, bash

pytestmark = pytest.mark.django_db


@pytest.fixture
def user_api(client_of, project):
    return lambda user: client_of(project, role=Role.WRITER, user_id=user)


class TestIsolation:
    def test_charlie_finds_no_such_project(
        self, complete, bob_api, charlie_api, project
    ):
        for _ in range(2):
            complete(bob_api)
        call = {"tool": "Bash", "error": ERROR, "arguments": {"command": FAILED}}
        body = {"project_id": str(project.pk), "parts": ["fix"], "failed": call}

        answer = charlie_api.post("/api/v1/context", body, format="json")

        assert answer.status_code == 404

    def test_a_bound_key_gets_its_own_user_and_nobody_elses(
        self, complete, fix, user_api
    ):
        one, two = user_api("u1"), user_api("u2")
        for _ in range(2):
            complete(one)

        assert fix(one)["is_own"]
        assert fix(two) is None

    def test_a_private_task_is_read_by_naming_its_scope_only(
        self, complete, fix, user_api, bob_api, client_of, project
    ):
        for user in ("u1", "u1"):
            complete(user_api(user))
        complete(bob_api)
        owner = client_of(project, role=Role.OWNER)

        assert fix(owner) is None
        assert fix(owner, scope={"kind": "user", "user_id": "u1"})

    def test_a_bound_key_cannot_name_another_users_scope(self, user_api, project):
        body = {
            "project_id": str(project.pk),
            "parts": ["fix"],
            "failed": {"tool": "Bash", "error": ERROR},
            "scope": {"kind": "user", "user_id": "u1"},
        }

        answer = user_api("u2").post("/api/v1/context", body, format="json")

        assert answer.status_code == 404

    def test_a_viewer_may_ask(
        self, complete, fix, client_of, project, bob_api, carol_api
    ):
        for api in (bob_api, carol_api):
            complete(api)

        assert fix(client_of(project, role=Role.VIEWER))


class TestTheEnd:
    def test_a_forgotten_memory_takes_its_repairs_with_it(
        self, complete, fix, bob_api, alice_api
    ):
        done = [complete(bob_api) for _ in range(2)]
        for each in done:
            gone = alice_api.delete(f"/api/v1/memories/{each['memory_id']}")
            assert gone.status_code == 204

        assert fix(bob_api) is None

    def test_an_expired_memory_takes_its_repairs_with_it(self, complete, fix, bob_api):
        for _ in range(2):
            complete(bob_api)
        assert fix(bob_api)

        Memory.objects.update(expires_at=timezone.now())

        assert fix(bob_api) is None

    def test_a_purge_removes_the_repairs_and_the_banners(
        self, complete, bob_api, alice_api, project
    ):
        calls = [
            bash("tool build", "error: the cache is cold\nbuilt", status="success")
        ]
        calls += [bash(FAILED, ERROR), bash("go test -tags=it ./ledger")]
        done = complete(bob_api, calls)
        assert ObservedRepair.objects.exists()
        assert BannerLine.objects.exists()

        answer = alice_api.post(
            "/api/v1/purge",
            {
                "project_id": str(project.pk),
                "ids": [done["memory_id"]],
                "reason": "Asked.",
            },
            format="json",
        )

        assert answer.status_code in (200, 201), answer.json()
        assert not ObservedRepair.objects.exists()
        assert not BannerLine.objects.exists()

    def test_a_deleted_project_keeps_none(self, complete, bob_api, project):
        complete(bob_api)
        job = Job(
            kind="project.delete", project_id=project.pk, lease_until=timezone.now()
        )

        remove(project.pk, Watched(job, HANDLERS["project.delete"]))

        assert not ObservedRepair.objects.exists()


class Watched(JobRun):
    """A job without a worker."""

    def step(self, done, *args, **kwargs):
        pass

    def yield_turn(self):
        pass
