from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from common.caller import Role
from jobs import runner
from jobs.models import Job
from memories import tasks
from memories.models import Memory
from memories.retention import compact, compaction_policy
from memories.scopes import Scope
from tests.memories.conftest import SESSION, lines

pytestmark = pytest.mark.django_db
POLICY = {"older_than_days": 7, "at_least": 3, "at_most": 4}


@pytest.fixture
def policy(options):
    def set_to(**changed):
        options(compaction={**POLICY, **changed})

    set_to()
    return set_to


@pytest.fixture
def planned(alice_api, project):
    def read(client=alice_api):
        asked = {"project_id": str(project.pk)}
        answer = client.get("/api/v1/compactions/plan", asked)
        assert answer.status_code == 200, answer.json()
        return answer.json()

    return read


@pytest.fixture
def compacted(alice_api, project, run_jobs):
    """Compact now and read the job."""

    def start():
        body = {"project_id": str(project.pk)}
        answer = alice_api.post("/api/v1/compactions", body)
        assert answer.status_code == 202, answer.json()
        run_jobs()
        return Job.objects.get(pk=answer.json()["id"])

    return start


@pytest.fixture
def past(alice_api, project):
    def read():
        asked = {"project_id": str(project.pk)}
        return alice_api.get("/api/v1/compactions", asked).json()["results"]

    return read


def sizes(plan):
    return [len(group["source_ids"]) for group in plan["groups"]]


class TestPlan:
    def test_it_names_old_memories_of_one_scope(self, policy, stored, planned):
        old = stored(*lines(3), days=8, scope=SESSION)
        stored(*lines(3, start=10), scope=SESSION)

        group = planned()["groups"][0]

        assert group["source_ids"] == [str(memory.pk) for memory in old]
        assert group["scope"] == {"kind": "session", "session_id": "s1"}

    def test_it_changes_nothing(self, policy, stored, planned):
        stored(*lines(3), days=8, scope=SESSION)

        planned()

        assert Memory.objects.current().count() == 3
        assert not Job.objects.filter(kind="compact").exists()

    def test_a_group_has_a_maximum_and_a_minimum_size(self, policy, stored, planned):
        stored(*lines(10), days=8, scope=SESSION)

        assert sizes(planned()) == [4, 4]

    @pytest.mark.parametrize(
        "fields",
        [
            {"scope": Scope("session", "s2")},
            {"scope": SESSION, "kind": "episode"},
            {"scope": SESSION, "sensitivity": "public"},
            {"scope": SESSION, "expires_at": timezone.now() + timedelta(days=90)},
        ],
        ids=["scope", "kind", "sensitivity", "expiry"],
    )
    def test_memories_that_differ_are_not_grouped(
        self, policy, stored, planned, fields
    ):
        stored(*lines(3), days=8, scope=SESSION)
        stored(*lines(3, start=10), days=8, **fields)

        assert sizes(planned()) == [3, 3]

    def test_facts_with_a_key_stay(self, policy, stored, planned):
        policy(kinds=["fact"])
        for n, text in enumerate(lines(3)):
            stored(text, days=8, scope=SESSION, kind="fact", key=f"hall.{n}")
        stored(*lines(3, start=10), days=8, scope=SESSION, kind="fact")

        assert sizes(planned()) == [3]

    @pytest.mark.parametrize(("generation", "groups"), [(2, [3]), (3, [])])
    def test_a_result_of_the_last_generation_stays(
        self, policy, stored, planned, generation, groups
    ):
        made = {"level": "extractive", "model": "", "generation": generation}
        stored(*lines(3), days=8, scope=SESSION, compaction=made)

        assert sizes(planned()) == groups

    def test_a_bound_user_sees_its_own_scopes_only(
        self, policy, stored, planned, client_of, project
    ):
        for user in ("ann", "ben"):
            stored(*lines(3), days=8, scope=Scope("user", user))

        plan = planned(client_of(project, role=Role.VIEWER, user_id="ann"))

        assert [group["scope"]["user_id"] for group in plan["groups"]] == ["ann"]

    def test_it_is_not_there_for_a_stranger(self, charlie_api, project):
        asked = {"project_id": str(project.pk)}
        answer = charlie_api.get("/api/v1/compactions/plan", asked)

        assert answer.status_code == 404


class TestJob:
    def test_it_compacts_the_groups_of_the_plan(
        self, policy, stored, planned, compacted
    ):
        stored(*lines(8), days=8, scope=SESSION)
        sources = [group["source_ids"] for group in planned()["groups"]]

        job = compacted()

        made = Memory.objects.current().order_by("pk")
        assert [[str(pk) for pk in m.compacted_from] for m in made] == sources
        assert {m.scope_hash for m in made} == {SESSION.hash}
        assert (job.state, job.result["groups"], job.result["memories"]) == (
            "done",
            2,
            8,
        )

    def test_a_second_one_has_nothing_to_do(self, policy, stored, compacted):
        stored(*lines(4), days=8, scope=SESSION)
        compacted()

        assert compacted().result["groups"] == 0
        assert Memory.objects.current().count() == 1

    def test_kept_sources_are_not_compacted_twice(self, policy, stored, compacted):
        policy(delete_sources=False)
        stored(*lines(4), days=8, scope=SESSION)
        compacted()

        assert compacted().result["groups"] == 0
        assert Memory.objects.current().count() == 5

    def test_two_at_once_compact_kept_sources_once(
        self, policy, stored, compacted, project, alice, monkeypatch
    ):
        policy(delete_sources=False)
        stored(*lines(3), days=8, scope=SESSION)
        prepare = compact.prepare

        def while_another_does(*args):
            monkeypatch.setattr(compact, "prepare", prepare)
            made = prepare(*args)
            runner.run(compaction_policy.start(project, alice).pk)
            return made

        monkeypatch.setattr(compact, "prepare", while_another_does)

        assert compacted().result == {"groups": 0, "memories": 0, "refused": 1}
        assert Memory.objects.exclude(compacted_from=[]).count() == 1

    def test_a_group_that_is_refused_does_not_stop_the_others(
        self, policy, stored, compacted, monkeypatch, alice
    ):
        stored(*lines(4), days=8, scope=SESSION)
        stored(*lines(4, start=10), days=8, scope=Scope("session", "s2"))
        real, seen = compact.prepare, []

        def changed_meanwhile(project, source_ids, *args):
            made = real(project, source_ids, *args)
            if not seen:
                Memory.objects.filter(pk=source_ids[0]).update(version=9)
            seen.append(source_ids)
            return made

        monkeypatch.setattr(compact, "prepare", changed_meanwhile)

        result = compacted().result

        assert (result["groups"], result["refused"]) == (1, 1)
        left = Memory.objects.current()
        assert left.filter(pk__in=seen[0]).count() == 4

    def test_a_writer_may_not_start_it(self, bob_api, project):
        answer = bob_api.post("/api/v1/compactions", {"project_id": str(project.pk)})

        assert answer.status_code == 403

    def test_a_second_start_returns_the_waiting_job(self, policy, alice_api, project):
        body = {"project_id": str(project.pk)}
        ids = {alice_api.post("/api/v1/compactions", body).json()["id"] for _ in "12"}

        assert len(ids) == Job.objects.filter(kind="compact").count() == 1


class TestThePast:
    def test_it_tells_what_was_made_when_and_by_which_policy(
        self, policy, stored, compacted, past
    ):
        sources = stored(*lines(4), days=8, scope=SESSION)
        job = compacted()

        change = past()[0]

        assert change["compacted_from"] == [str(memory.pk) for memory in sources]
        assert change["actor"] == "system"
        assert "note and episode older than 7 days" in change["reason"]
        assert str(job.pk) in change["reason"]
        assert change["made"]["level"] == "extractive"
        assert change["is_deleted"] is False

    def test_what_was_undone_is_back_and_not_compacted_again(
        self, policy, stored, compacted, past, alice_api
    ):
        sources = stored(*lines(4), days=8, scope=SESSION)
        compacted()
        made = past()[0]["memory_id"]

        answer = alice_api.post(f"/api/v1/memories/{made}/undo-compaction")

        assert answer.status_code == 200
        assert compacted().result["groups"] == 0
        assert set(Memory.objects.current()) == set(sources)
        assert past()[0]["is_deleted"] is True


class TestTheSchedule:
    def test_it_starts_where_the_policy_is_enabled(self, policy, stored, run_jobs):
        policy(enabled=True)
        stored(*lines(4), days=8, scope=SESSION)

        tasks.compact()
        run_jobs()

        assert Memory.objects.current().count() == 1

    def test_it_starts_nothing_else(self, policy, project, other_project):
        policy(enabled=False)

        tasks.compact()

        assert not Job.objects.filter(kind="compact").exists()

    def test_it_starts_once_a_day(self, policy, run_jobs):
        policy(enabled=True)
        tasks.compact()
        run_jobs()
        tasks.compact()
        assert Job.objects.filter(kind="compact").count() == 1

        a_day = timedelta(hours=24)
        Job.objects.update(created_at=timezone.now() - a_day)
        tasks.compact()

        assert Job.objects.filter(kind="compact").count() == 2
