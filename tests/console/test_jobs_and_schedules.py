"""The pages of jobs: urgent ones first, the progress of each, and the schedule."""

from __future__ import annotations

from datetime import timedelta

import pytest
from celery import current_app
from django.urls import reverse
from django.utils import timezone

from audit.models import AuditEvent
from common.caller import Role
from inference.embedding import model_record
from jobs import tasks
from jobs.models import Heartbeat, Job
from memories.store import write
from memories.store.drafts import Draft
from tests.admin.conftest import queries_of
from tests.admin.test_rows import do

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

    def test_a_failed_one_is_retried_or_discarded(self, curator, project):
        jobs = [a_job(project, "failed") for _ in range(2)]

        for job, action in zip(jobs, ("retry", "discard"), strict=True):
            do(curator, job, action)

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
        assert len(made) <= 6, made


class TestTheEmbeddingModel:
    @pytest.fixture(autouse=True)
    def _processes_know_at_once(self, monkeypatch):
        monkeypatch.setattr(model_record, "CACHE_SECONDS", -1.0)
        model_record.forget()

    @pytest.fixture
    def configured(self, settings, remembered):
        settings.EMBEDDING_DIMENSIONS = 64
        return "fake@64"

    @pytest.fixture
    def remembered(self, project, alice):
        draft = Draft("The deploy waits for a lock.", memory_type="learning")
        return write.store(project, draft, alice).memory

    def test_no_button_is_shown_while_the_settings_name_the_active_one(
        self, admin_client, remembered
    ):
        html = admin_client.get(SCHEDULES).content.decode()

        assert "Searches use <code>fake</code>." in html
        assert "Embed all texts" not in html

    def test_a_button_starts_the_change_and_the_page_shows_its_progress(
        self, admin_client, configured, remembered, run_jobs
    ):
        before = admin_client.get(SCHEDULES).content.decode()
        assert f"Embed all texts with {configured}" in before

        after = admin_client.post(SCHEDULES, follow=True).content.decode()

        job = Job.objects.get(kind="reembed")
        assert f"The change of the model is job {job.pk}." in after
        assert "The change</a> is waiting" in after
        event = AuditEvent.objects.get(verb="embeddings.change")
        assert event.actor == "user:admin"
        run_jobs()
        assert remembered.vectors.filter(model=configured).exists()

    def test_whoever_does_not_own_the_installation_may_not(self, curator, configured):
        assert curator.post(SCHEDULES).status_code == 403
        assert not Job.objects.filter(kind="reembed").exists()
