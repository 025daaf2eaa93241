from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from axes.models import AccessLog
from django.contrib.sessions.models import Session
from django.db import connection, transaction
from django.utils import timezone

from access import tasks
from access.models import ApiKey, IdempotencyKey
from audit.models import AuditEvent
from common import db
from jobs import runner
from jobs.models import Job
from projects import deletion, lifecycle
from projects.models import Project

pytestmark = pytest.mark.django_db


@pytest.fixture
def removers(monkeypatch):
    """What the apps above would register."""
    registered = []
    monkeypatch.setattr(deletion, "REMOVERS", registered)
    return registered


@pytest.fixture
def long_ago():
    return timezone.now() - timedelta(days=31)


def end_grace(project, alice):
    lifecycle.delete(project, alice)
    past = timezone.now() - timedelta(minutes=1)
    Project.objects.update(delete_after=past)


def run_impatiently(job):
    """Give up at once where the job waits for a lock of another transaction."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '10ms'")
        runner.run(job.pk)
    finally:
        connection.close()


class TestProjects:
    def test_one_in_its_grace_stays(self, project, alice, run_jobs):
        lifecycle.delete(project, alice)
        tasks.housekeeping()
        run_jobs()

        assert Project.objects.filter(pk=project.pk).exists()

    def test_one_past_it_goes_with_all_that_belongs_to_it(
        self, project, alice, alice_api, run_jobs, removers
    ):
        asked = []
        deletion.register(lambda project_id, run: asked.append(("low", project_id)))
        deletion.register(lambda project_id, run: asked.append(("high", project_id)))
        end_grace(project, alice)
        tasks.housekeeping()
        run_jobs()

        assert asked == [("high", project.pk), ("low", project.pk)]
        assert not Project.objects.filter(pk=project.pk).exists()
        assert not ApiKey.objects.get(pk=alice_api.key.pk).projects.exists()
        assert AuditEvent.objects.get(verb="project.ended").project_id == project.pk

    def test_the_jobs_of_one_that_has_ended_are_cancelled(
        self, project, other_project, alice, removers
    ):
        waiting, running_now, other = (
            Job.objects.create(kind="embed", project_id=of.pk, state=state)
            for of, state in [
                (project, "waiting"),
                (project, "running"),
                (other_project, "waiting"),
            ]
        )
        end_grace(project, alice)
        job = Job.objects.create(kind=deletion.KIND, project_id=project.pk)
        runner.run(job.pk)

        left = {row.pk: row for row in Job.objects.all()}
        assert left[job.pk].state == Job.State.DONE
        assert left[other.pk].state == Job.State.WAITING
        for row in (left[waiting.pk], left[running_now.pk]):
            assert row.state == Job.State.CANCELLED
            assert row.finished_at

    @pytest.mark.django_db(transaction=True)
    def test_a_restore_that_was_in_time_comes_before_the_removers(
        self, project, alice, removers, time_machine
    ):
        deletion.register(lambda project_id, run: pytest.fail("it is emptied"))
        lifecycle.delete(project, alice)
        job = Job.objects.create(kind=deletion.KIND, project_id=project.pk)

        with transaction.atomic(), ThreadPoolExecutor() as pool:
            lifecycle.restore(project, alice)
            time_machine.move_to(timezone.now() + timedelta(days=31))
            pool.submit(run_impatiently, job).result()

        job.refresh_from_db()
        assert "lock timeout" in job.error
        assert Project.objects.get().delete_after is None

    def test_one_that_is_already_deleted_is_no_error(self, run_jobs):
        job = Job.objects.create(kind=deletion.KIND, project_id=uuid.uuid4())
        runner.run(job.pk)

        assert Job.objects.get(pk=job.pk).state == Job.State.DONE


class TestRows:
    def test_old_answers_go(self, long_ago):
        fields = {"actor": "a", "route": "r", "body_hash": ""}
        old = IdempotencyKey.objects.create(key="old", **fields)
        IdempotencyKey.objects.filter(pk=old.pk).update(created_at=long_ago)
        IdempotencyKey.objects.create(key="new", **fields)
        tasks.housekeeping()

        assert [row.key for row in IdempotencyKey.objects.all()] == ["new"]

    def test_old_jobs_go_but_dead_letters_stay(self, long_ago):
        for state in Job.State:
            Job.objects.create(kind=state, state=state, finished_at=long_ago)
        Job.objects.create(kind="fresh", state="done", finished_at=timezone.now())
        tasks.housekeeping()

        left = set(Job.objects.values_list("kind", flat=True))
        assert left == {"waiting", "running", "failed", "fresh"}

    def test_old_sign_ins_go(self, time_machine):
        AccessLog.objects.create(username="old")
        time_machine.move_to(timezone.now() + timedelta(days=91))
        AccessLog.objects.create(username="new")
        tasks.housekeeping()

        assert [row.username for row in AccessLog.objects.all()] == ["new"]

    def test_sessions_go_after_their_end(self):
        for name, left in (("over", -1), ("lasting", 1)):
            ends = timezone.now() + timedelta(minutes=left)
            Session.objects.create(session_key=name, expire_date=ends)
        tasks.housekeeping()

        assert Session.objects.get().session_key == "lasting"

    def test_many_go_in_batches(self, long_ago, monkeypatch):
        monkeypatch.setattr(db, "DELETE_BATCH", 2)
        for _ in range(5):
            Job.objects.create(kind="x", state="done", finished_at=long_ago)
        tasks.housekeeping()

        assert not Job.objects.exists()
