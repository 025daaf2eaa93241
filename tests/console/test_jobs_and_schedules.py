"""The pages of jobs: urgent ones first, the progress of each, and the schedule."""

from __future__ import annotations

from datetime import timedelta

import pytest
from celery import current_app
from django.urls import reverse
from django.utils import timezone

from common.caller import Role
from jobs import tasks
from jobs.models import Heartbeat, Job
from tests.admin.test_actions import do
from tests.admin.test_lists import queries_of

pytestmark = pytest.mark.django_db

LIST = reverse("admin:jobs_job_changelist")
SCHEDULES = reverse("console:schedules")


def a_job(project, state, **fields):
    given = {"kind": "embed", "state": state, "project_id": project.pk} | fields
    return Job.objects.create(**given)


class TestTheList:
    def test_what_runs_waits_or_failed_comes_first(self, curator, project):
        states = ["failed", "done", "waiting", "cancelled", "running", "discarded"]
        jobs = {state: a_job(project, state) for state in states}

        html = curator.get(LIST).content.decode()

        places = {state: html.index(f'"{jobs[state].pk}"') for state in states}
        assert sorted(places, key=places.get)[:3] == ["running", "waiting", "failed"]

    def test_it_draws_and_states_the_progress_of_a_job(self, curator, project):
        job = a_job(project, "running", done=3, total=10)

        html = curator.get(LIST).content.decode()

        assert f'data-job="{job.pk}" data-state="running"' in html
        assert '<progress value="3" max="10" aria-label="Progress of embed">' in html
        assert "3 of 10" in html
        assert "admin/jobs.js" in html

    def test_a_failed_one_is_retried_or_discarded_from_there(self, curator, project):
        jobs = [a_job(project, "failed") for _ in range(2)]

        for job, action in zip(jobs, ("retry", "discard"), strict=True):
            curator.post(LIST, {"action": action, "_selected_action": [str(job.pk)]})
            job.refresh_from_db()

        assert [job.state for job in jobs] == ["waiting", "discarded"]

    def test_a_viewer_is_neither_offered_nor_allowed_it(self, browser_of, project):
        viewer, job = browser_of(Role.VIEWER), a_job(project, "failed")

        do(viewer, job, "retry")

        assert job.state == "failed"
        assert "do/retry" not in viewer.get(f"{LIST}{job.pk}/change/").content.decode()


class TestSchedules:
    def test_every_task_of_beat_is_there(self, superuser):
        html = superuser.get(SCHEDULES).content.decode()

        for name in current_app.conf.beat_schedule:
            assert f">{name}</bdi>" in html
        assert html.count("not run yet") == len(current_app.conf.beat_schedule)

    def test_a_task_that_succeeded_is_in_time(self, superuser):
        tasks.sweep.apply()

        html = superuser.get(SCHEDULES).content.decode()

        assert html.count("in time") == 1
        assert Heartbeat.objects.filter(name="task:jobs.tasks.sweep").exists()

    def test_one_that_ended_long_ago_is_late(self, superuser):
        long_ago = timezone.now() - timedelta(days=4)
        Heartbeat.objects.create(name="task:jobs.tasks.sweep", at=long_ago)

        html = superuser.get(SCHEDULES).content.decode()

        assert ">late<" in html
        assert f'datetime="{long_ago.isoformat()}"' in html

    def test_it_lists_the_job_kinds_that_succeeded_with_links(self, superuser):
        Heartbeat.beat("job:embed_memories")

        assert (
            f'{LIST}?kind=embed_memories"' in superuser.get(SCHEDULES).content.decode()
        )

    def test_hostile_names_are_text(self, world, superuser):
        assert "<script>alert" not in superuser.get(SCHEDULES).content.decode()

    def test_only_owners_of_everything_are_offered_and_shown_it(self, owner, superuser):
        assert owner.get(SCHEDULES).status_code == 403
        assert SCHEDULES not in owner.get(LIST).content.decode()
        assert SCHEDULES in superuser.get(LIST).content.decode()

    def test_it_asks_one_query_of_its_own(self, superuser):
        superuser.get(SCHEDULES)

        made = queries_of(superuser, SCHEDULES)

        assert sum("jobs_heartbeat" in query for query in made) == 1
        assert len(made) <= 5, made
