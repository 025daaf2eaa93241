from __future__ import annotations

from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from jobs.models import Job
from memories.lifecycle import lookup, restore, verify
from memories.models import Memory
from memories.retention import prune

pytestmark = pytest.mark.django_db
URL = "/api/v1/compactions/plan"


@pytest.fixture
def on(project):
    project.settings = {"agents": {"prune_after_days": 30}}
    project.save()
    return project


@pytest.fixture
def store(alice_api):
    def store(content, kind="fact", **fields):
        body = {"project": "alpha", "content": content, "kind": kind, **fields}
        answer = alice_api.post("/api/v1/memories", body)
        assert answer.status_code == 201, answer.json()
        return answer.json()["id"]

    return store


def ask(api, query):
    answer = api.post("/api/v1/facts/retrieve", {"collection": "alpha", "query": query})
    assert answer.status_code == 200, answer.json()


def passes(run_jobs, days=2):
    """Run the daily passes of so many days."""
    now = timezone.now()
    for day in range(days):
        with time_machine.travel(now + timedelta(days=day), tick=False):
            prune.start_due()
            run_jobs()


def archived():
    return set(
        Memory.objects.filter(archived_at__isnull=False).values_list(
            "content", flat=True
        )
    )


def in_days(days):
    return time_machine.travel(timezone.now() + timedelta(days=days), tick=False)


class TestPasses:
    def test_it_is_off_by_default(self, project, store, run_jobs):
        store("Staging is blue.")
        with in_days(400):
            passes(run_jobs)

        assert not Job.objects.filter(kind="prune").exists()

    def test_the_first_pass_counts_and_the_second_archives(self, on, store, run_jobs):
        store("Staging is blue.")
        store("Deploy the docs", kind="episode")
        store("A note stays.", kind="note", memory_type="learning")
        with in_days(31):
            passes(run_jobs, days=1)
            assert archived() == set()
            passes(run_jobs, days=2)

        first, second = Job.objects.filter(kind="prune").order_by("pk")
        assert first.result == {"dry_run": True, "memories": 2}
        assert second.result == {"dry_run": False, "memories": 2}
        assert archived() == {"Staging is blue.", "Deploy the docs"}

    def test_other_days_are_counted_first_again(self, on, store, run_jobs):
        store("Staging is blue.")
        passes(run_jobs)
        on.settings = {"agents": {"prune_after_days": 5}}
        on.save()
        with in_days(10):
            passes(run_jobs, days=1)

        assert archived() == set()

    def test_there_is_one_pass_a_day(self, on, run_jobs):
        passes(run_jobs, days=1)
        prune.start_due()

        assert Job.objects.filter(kind="prune").count() == 1


class TestWhatStays:
    def test_a_fact_that_a_question_found(self, on, store, alice_api, run_jobs):
        store("Staging is blue.")
        with in_days(20):
            ask(alice_api, "staging")
        with in_days(40):
            passes(run_jobs)

        assert archived() == set()
        with in_days(60):
            passes(run_jobs)
        assert archived() == {"Staging is blue."}

    def test_a_fact_that_a_search_found(self, on, store, alice_api, run_jobs):
        store("Staging is blue.")
        with in_days(20):
            body = {"project": "alpha", "query": "staging"}
            alice_api.post("/api/v1/search", body)
        with in_days(40):
            passes(run_jobs)

        assert archived() == set()

    def test_a_verified_fact(self, on, store, alice, run_jobs):
        memory = lookup.get_memory(store("Staging is blue."), alice)
        verify.verify_memory(memory, alice)
        with in_days(40):
            passes(run_jobs)

        assert archived() == set()

    def test_a_restored_fact(self, on, store, alice, run_jobs):
        pk = store("Staging is blue.")
        with in_days(40):
            passes(run_jobs)
            restore.restore_memory(pk, alice)
            passes(run_jobs, days=4)

        assert archived() == set()


class TestRecalls:
    def test_a_day_is_written_once(self, project, store, alice_api):
        pk = store("Staging is blue.")
        ask(alice_api, "staging")
        first = Memory.objects.get(pk=pk).recalled_at
        ask(alice_api, "staging")

        assert first is not None
        assert Memory.objects.get(pk=pk).recalled_at == first

    def test_it_is_no_change_of_the_memory(self, project, store, alice_api):
        pk = store("Staging is blue.")
        before = Memory.objects.values("version", "updated_at").get(pk=pk)
        ask(alice_api, "staging")

        assert Memory.objects.values("version", "updated_at").get(pk=pk) == before


class TestPlan:
    def test_it_shows_what_any_days_would_archive(self, project, store, alice_api):
        pk = store("Staging is blue.")
        with in_days(10):
            off = alice_api.get(URL, {"project": "alpha"}).json()
            plan = alice_api.get(URL, {"project": "alpha", "prune_after_days": 9})

        assert off["unrecalled"] == {"count": 0, "ids": []}
        assert plan.json()["unrecalled"] == {"count": 1, "ids": [pk]}
        assert archived() == set()

    def test_a_bound_key_sees_no_other_users(self, project, store, client_of):
        store("Ann likes tea.", scope={"kind": "user", "user_id": "ann"})
        ben = client_of(project, user_id="ben")
        with in_days(10):
            plan = ben.get(URL, {"project": "alpha", "prune_after_days": 9})

        assert plan.json()["unrecalled"] == {"count": 0, "ids": []}
