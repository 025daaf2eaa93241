"""The pages about how many memories a project has."""

from __future__ import annotations

import pytest
from django.urls import reverse

from jobs.models import Job
from memories.models import Memory
from memories.scopes import Scope
from tests.memories.conftest import lines
from tests.memories.conftest import options as options
from tests.memories.conftest import stored as stored

pytestmark = pytest.mark.django_db


@pytest.fixture
def quotas_page(owner, project):
    def read():
        asked = {"project": project.pk}
        return owner.get(
            reverse("admin:memories_memory_quotas"), asked
        ).content.decode()

    return read


@pytest.fixture
def compaction_page(curator, project):
    def send(**fields):
        asked = {"project": str(project.pk), **fields}
        url = reverse("admin:memories_memory_compaction")
        return curator.post(url, asked).content.decode()

    return send


class TestQuotas:
    def test_it_shows_how_far_each_is_used(self, quotas_page, options, stored):
        stored(*lines(3), scope=Scope("user", "<b>ann</b>"))
        options(quotas={"memories": 4, "per_user": 2})

        shown = quotas_page()

        assert "75%" in shown
        assert "150%" in shown
        assert "&lt;b&gt;ann&lt;/b&gt;" in shown

    def test_it_says_that_there_are_none(self, quotas_page):
        assert "No quota is set." in quotas_page()


class TestCompaction:
    @pytest.fixture(autouse=True)
    def policy(self, options):
        options(compaction={"at_least": 2, "older_than_days": 7})

    def test_it_shows_the_plan_and_changes_nothing(self, compaction_page, stored):
        old = stored(*lines(2), days=8, scope=Scope("session", "<i>s1</i>"))

        shown = compaction_page()

        assert "session: &lt;i&gt;s1&lt;/i&gt;" in shown
        assert str(old[0].pk) in shown
        assert Memory.objects.current().count() == 2
        assert not Job.objects.filter(kind="compact").exists()

    def test_confirmed_it_starts_the_job(self, compaction_page, stored, run_jobs):
        stored(*lines(2), days=8, scope=Scope("session", "s1"))

        shown = compaction_page(confirmed="on")
        run_jobs()

        assert str(Job.objects.get(kind="compact").pk) in shown
        assert Memory.objects.current().count() == 1

    def test_it_says_that_there_is_nothing_to_do(self, compaction_page):
        assert "settings of the project select no memories." in compaction_page()

    def test_an_archived_memory_is_restored_from_its_page(self, curator, stored):
        memory = stored(*lines(1))[0]
        Memory.objects.filter(pk=memory.pk).update(archived_at=memory.created_at)

        url = reverse("admin:memories_memory_do", args=[memory.pk, "restore"])
        curator.post(url)

        assert Memory.objects.current().filter(pk=memory.pk).exists()
