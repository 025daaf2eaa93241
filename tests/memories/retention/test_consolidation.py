from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from jobs.models import Job
from memories.models import Memory, MemoryChange
from memories.scopes import Scope
from memories.store import quotas
from tests.memories.conftest import SESSION, lines

pytestmark = pytest.mark.django_db
POLICY = {"older_than_days": 7, "at_least": 2, "at_most": 4}
TWICE = (
    "The harbour crane is oiled every Monday morning before nine by two people",
    "The harbour crane is oiled every Monday morning before nine by two people.",
)


@pytest.fixture
def consolidated(project, options, run_jobs):
    """Set the quotas, start the job as a write would, and read its result."""

    def run(**limits):
        options(quotas=limits, compaction=POLICY)
        quotas.consolidate_due()
        run_jobs()
        job = Job.objects.filter(kind="consolidate").first()
        assert job.state == "done", job.error
        return job.result

    return run


def current():
    return Memory.objects.current()


class TestTheSteps:
    def test_duplicates_go_first(self, options, stored, consolidated):
        options(dedup={"enabled": False})
        twice = stored(*TWICE)
        stored(*lines(2), kind="episode", days=8)
        doubted = stored(*lines(1, start=20), confidence=0.1)[0]

        result = consolidated(memories=5)

        assert result == {
            "duplicates": 1,
            "folded": 0,
            "archived": 0,
            "is_under": True,
        }
        assert Memory.objects.get(pk=twice[1].pk).duplicate_of == twice[0]
        assert doubted in current()

    def test_what_expired_makes_room_before_anything_that_lives(
        self, stored, consolidated
    ):
        lasting = stored(*lines(2))
        expired = stored(*lines(3, start=10))
        past = timezone.now() - timedelta(seconds=1)
        Memory.objects.filter(pk__in=[m.pk for m in expired]).update(expires_at=past)

        result = consolidated(memories=4)

        assert (result["archived"], result["is_under"]) == (0, True)
        assert set(current()) == set(lasting)

    def test_old_episodes_are_folded_into_a_note_before_anything_is_archived(
        self, stored, consolidated
    ):
        episodes = stored(*lines(3), kind="episode", days=8, scope=SESSION)
        recent = stored(*lines(2, start=10), kind="episode", scope=SESSION)
        doubted = stored(*lines(1, start=20), confidence=0.1)[0]

        result = consolidated(memories=5)

        note = current().get(kind="note", scope_hash=SESSION.hash)
        assert note.compacted_from == [memory.pk for memory in episodes]
        assert (result["folded"], result["archived"]) == (3, 0)
        assert {*recent, doubted, note} == set(current())

    def test_the_lowest_confidence_is_archived_and_confirmed_ones_last(
        self, stored, consolidated, alice_api
    ):
        sure, low, unknown, older, least = (
            stored(text, confidence=confidence)[0]
            for text, confidence in zip(
                lines(5), [0.9, 0.4, None, None, 0.1], strict=True
            )
        )
        alice_api.post(f"/api/v1/memories/{least.pk}/verify", {})

        result = consolidated(memories=3)

        assert result["archived"] == 3
        assert set(current()) == {sure, least}
        assert Memory.objects.filter(archived_at=None).count() == 2
        assert {low, unknown, older}.isdisjoint(current())

    def test_it_stops_as_soon_as_it_is_under_the_quota(self, stored, consolidated):
        stored(*lines(12), kind="episode", days=8, scope=SESSION)

        result = consolidated(memories=12)

        assert (result["folded"], result["is_under"]) == (4, True)
        assert current().count() == 9

    def test_below_the_quota_nothing_is_touched(self, stored, consolidated):
        stored(*lines(3))
        consolidated(memories=3)
        left = set(current())

        quotas.consolidate_due()

        assert set(current()) == left
        assert not Job.objects.filter(kind="consolidate", state="waiting").exists()

    def test_a_kind_makes_room_among_its_own(self, stored, consolidated):
        notes = stored(*lines(2), confidence=0.1)
        stored(*lines(3, start=10), kind="procedure")

        consolidated(per_kind={"procedure": 3})

        assert current().filter(kind="procedure").count() == 2
        assert set(notes) <= set(current())

    def test_a_user_makes_room_among_its_own(self, stored, consolidated):
        ann, ben = Scope("user", "ann"), Scope("user", "ben")
        stored(*lines(3), scope=ann)
        stored(*lines(2, start=10), scope=ben)

        consolidated(per_user=3)

        assert current().filter(scope_key="ann").count() == 2
        assert current().filter(scope_key="ben").count() == 2


class TestTakingItBack:
    def test_each_step_says_why_and_is_on_record(self, stored, consolidated):
        memory = stored(*lines(1))[0]

        consolidated(memories=1)

        change = MemoryChange.objects.get(memory_id=memory.pk, action="archive")
        assert "quota memories was reached" in change.reason
        assert change.actor == "system"

    def test_what_was_archived_comes_back_and_stays(
        self, stored, consolidated, alice_api
    ):
        memory = stored(*lines(1))[0]
        consolidated(memories=1)

        answer = alice_api.post(f"/api/v1/memories/{memory.pk}/restore")

        assert answer.status_code == 200
        assert consolidated(memories=1)["archived"] == 0
        assert memory in current()

    def test_a_fold_that_was_undone_is_not_done_again(
        self, stored, consolidated, alice_api
    ):
        episodes = stored(*lines(3), kind="episode", days=8, scope=SESSION)
        consolidated(memories=3)
        note = current().get(kind="note")

        alice_api.post(f"/api/v1/memories/{note.pk}/undo-compaction")

        assert consolidated(memories=3)["folded"] == 0
        assert set(current()) == set(episodes)

    def test_one_in_vain_is_not_started_again_at_once(
        self, stored, consolidated, alice_api, project
    ):
        memory = stored(*lines(1))[0]
        consolidated(memories=1)
        alice_api.post(f"/api/v1/memories/{memory.pk}/restore")
        assert consolidated(memories=1)["is_under"] is False

        quotas.consolidate_later(project)

        assert not Job.objects.filter(kind="consolidate", state="waiting").exists()
