from __future__ import annotations

import uuid

import pytest

from audit.models import AuditEvent
from audit.trail import record
from common.caller import SYSTEM, Role
from jobs.models import Job

pytestmark = pytest.mark.django_db
AUDIT = "/api/v1/audit"
JOBS = "/api/v1/jobs"


@pytest.fixture
def job(project):
    return Job.objects.create(kind="dedup", project_id=project.pk)


@pytest.fixture
def failed(project):
    return Job.objects.create(kind="x", project_id=project.pk, state=Job.State.FAILED)


class TestAudit:
    def test_an_owner_reads_its_projects_events(self, alice, alice_api, project):
        record(alice, "memory.stored", project_id=project.pk, object_id="m1")
        record(SYSTEM, "memory.stored", project_id=uuid.uuid4())
        rows = alice_api.get(AUDIT).json()["results"]

        assert [(row["actor"], row["object_id"]) for row in rows] == [("alice", "m1")]

    def test_it_is_narrowed_by_every_filter(self, alice, bob, alice_api, project):
        record(alice, "a.made", project_id=project.pk, object_id="1")
        record(bob, "b.made", project_id=project.pk, object_id="2")
        at = AuditEvent.objects.get(object_id="2").at.isoformat().replace("+", "%2B")

        for query in ("verb=b.made", "actor=bob", "object_id=2", f"date_from={at}"):
            rows = alice_api.get(f"{AUDIT}?project_id=alpha&{query}").json()["results"]
            assert [row["object_id"] for row in rows] == ["2"], query

    def test_a_writer_sees_the_events_of_its_own_key(self, bob_api, alice, project):
        record(alice, "a.made", project_id=project.pk)
        bob_api.patch(f"/api/v1/projects/{project.pk}", {"name": "x"})
        rows = bob_api.get(AUDIT).json()["results"]

        assert [row["verb"] for row in rows] == ["access.refused"]
        assert bob_api.get(f"{AUDIT}?project_id=alpha").status_code == 403

    def test_a_stranger_sees_nothing(self, charlie_api, alice, project):
        record(alice, "a.made", project_id=project.pk)

        assert charlie_api.get(AUDIT).json()["results"] == []
        assert charlie_api.get(f"{AUDIT}?project_id=alpha").status_code == 404

    def test_an_owner_bound_to_a_user_sees_its_own_only(
        self, client_of, alice, project
    ):
        record(alice, "a.made", project_id=project.pk)
        bound = client_of(project, role=Role.OWNER, user_id="u1")

        assert bound.get(AUDIT).json()["results"] == []


class TestReadJobs:
    def test_a_member_sees_a_job_and_its_progress(self, bob_api, job):
        Job.objects.filter(pk=job.pk).update(done=3, total=9)
        found = bob_api.get(f"{JOBS}/{job.pk}").json()

        assert (found["kind"], found["state"]) == ("dedup", "waiting")
        assert found["progress"] == {"done": 3, "total": 9}

    def test_a_list_is_narrowed(self, bob_api, job, failed):
        for query in ("kind=x", "state=failed", "kind=x&project_id=alpha"):
            rows = bob_api.get(f"{JOBS}?{query}").json()["results"]
            assert [row["id"] for row in rows] == [str(failed.pk)], query

    def test_the_error_of_a_wrong_state_lists_the_valid_ones(self, bob_api):
        answer = bob_api.get(f"{JOBS}?state=lazy")

        assert "waiting, running" in answer.json()["errors"]["state"][0]

    def test_a_stranger_sees_none(self, charlie_api, job):
        assert charlie_api.get(JOBS).json()["results"] == []
        assert charlie_api.get(f"{JOBS}/{job.pk}").status_code == 404
        assert charlie_api.post(f"{JOBS}/{job.pk}/cancel").status_code == 404

    def test_a_key_bound_to_a_user_sees_none(self, client_of, project, job):
        bound = client_of(project, role=Role.CURATOR, user_id="u1")

        assert bound.get(JOBS).json()["results"] == []
        assert bound.get(f"{JOBS}/{job.pk}").status_code == 404


class TestActOnJobs:
    @pytest.mark.parametrize(
        ("action", "state"), [("retry", "waiting"), ("discard", "discarded")]
    )
    def test_a_failed_one_is_retried_or_discarded(
        self, alice_api, failed, action, state
    ):
        answer = alice_api.post(f"{JOBS}/{failed.pk}/{action}")

        assert answer.json()["state"] == state
        event = AuditEvent.objects.get(verb=f"job.{action}")
        assert event.object_id == str(failed.pk)

    def test_a_waiting_one_is_cancelled(self, alice_api, job):
        answer = alice_api.post(f"{JOBS}/{job.pk}/cancel")

        assert answer.json()["state"] == "cancelled"

    def test_what_its_state_does_not_allow_is_a_409(self, alice_api, job):
        answer = alice_api.post(f"{JOBS}/{job.pk}/retry")

        assert (answer.status_code, answer.json()["code"]) == (409, "job_state")
        assert not AuditEvent.objects.filter(verb="job.retry").exists()

    def test_it_takes_a_curator(self, bob_api, failed):
        assert bob_api.post(f"{JOBS}/{failed.pk}/retry").status_code == 403

    def test_a_job_of_no_project_takes_a_curator_of_everything(
        self, alice_api, client_of
    ):
        job = Job.objects.create(kind="x")

        assert alice_api.post(f"{JOBS}/{job.pk}/cancel").status_code == 404
        viewer, curator = client_of(role=Role.VIEWER), client_of(role=Role.CURATOR)
        assert viewer.post(f"{JOBS}/{job.pk}/cancel").status_code == 403
        assert curator.post(f"{JOBS}/{job.pk}/cancel").status_code == 200
