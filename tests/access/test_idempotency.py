from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from access import idempotency
from access.models import IdempotencyKey
from access.tasks import housekeeping
from common import errors
from common.caller import Caller, Role
from projects.models import Project

PROJECTS = "/api/v1/projects"
HEADERS = {"idempotency-key": "once-only"}


@pytest.fixture
def root_api(client_of):
    return client_of(role=Role.OWNER)


def identity(body="a", **changed):
    named = {"route": "POST x", "path": "/x", "project_id": None, "key": "k"} | changed
    return idempotency.identify_request(Caller(name="alice"), body=body, **named)


@pytest.mark.django_db
class TestTheHeader:
    def test_the_same_again_gives_the_first_answer(self, root_api):
        first = root_api.post(PROJECTS, {"name": "apollo"}, headers=HEADERS)
        second = root_api.post(PROJECTS, {"name": "apollo"}, headers=HEADERS)

        assert (first.status_code, second.status_code) == (201, 201)
        assert first.json() == second.json()
        assert second.headers["Idempotent-Replay"] == "true"
        assert "Idempotent-Replay" not in first.headers
        assert Project.objects.count() == 1

    def test_the_order_of_fields_makes_no_difference(self, root_api):
        body = {"name": "apollo", "description": "moon"}
        root_api.post(PROJECTS, body, headers=HEADERS)
        turned = dict(reversed(body.items()))

        assert root_api.post(PROJECTS, turned, headers=HEADERS).status_code == 201

    def test_another_body_is_a_409(self, root_api):
        root_api.post(PROJECTS, {"name": "apollo"}, headers=HEADERS)
        answer = root_api.post(PROJECTS, {"name": "gemini"}, headers=HEADERS)

        assert answer.status_code == 409
        assert answer.json()["code"] == "idempotency_mismatch"
        assert not Project.objects.filter(name="gemini").exists()

    def test_the_key_of_another_caller_is_another_key(self, root_api, client_of):
        root_api.post(PROJECTS, {"name": "apollo"}, headers=HEADERS)
        other = client_of(role=Role.OWNER)
        answer = other.post(PROJECTS, {"name": "gemini"}, headers=HEADERS)

        assert answer.status_code == 201

    def test_a_refusal_stores_nothing(self, root_api):
        root_api.post(PROJECTS, {"name": "apollo"})
        refused = root_api.post(PROJECTS, {"name": "apollo"}, headers=HEADERS)
        Project.objects.all().delete()
        answer = root_api.post(PROJECTS, {"name": "apollo"}, headers=HEADERS)

        assert (refused.status_code, answer.status_code) == (409, 201)

    @pytest.mark.parametrize("key", ["", "x" * 256, "a\tb", "é", "a\x7fb"])
    def test_a_bad_key_is_a_400(self, root_api, key):
        headers = {"idempotency-key": key}
        answer = root_api.post(PROJECTS, {"name": "apollo"}, headers=headers)

        assert answer.status_code == 400
        assert answer.json()["code"] == "invalid_idempotency_key"

    def test_it_is_forgotten_after_a_week(self, root_api, time_machine):
        root_api.post(PROJECTS, {"name": "apollo"}, headers=HEADERS)
        time_machine.move_to(timezone.now() + timedelta(days=8))
        housekeeping()

        assert not IdempotencyKey.objects.exists()


@pytest.mark.django_db
class TestWorkOfSeveralTransactions:
    def test_a_replay_returns_the_answer_of_the_claim(self):
        claimed = idempotency.claim(identity(), answer={"run_id": "r1"})
        before = idempotency.replay(identity())
        idempotency.store_answer(claimed, 201, {"done": True})
        after = idempotency.replay(identity())

        assert (before.status, before.body) == (None, {"run_id": "r1"})
        assert (after.status, after.body) == (201, {"done": True})

    def test_a_second_claim_gets_nothing(self):
        assert idempotency.claim(identity()) is not None
        assert idempotency.claim(identity()) is None

    def test_the_project_is_part_of_the_key(self, project):
        assert idempotency.claim(identity()) is not None
        assert idempotency.claim(identity(project_id=project.pk)) is not None

    def test_an_unknown_key_has_no_answer(self):
        assert idempotency.replay(identity()) is None

    def test_another_body_is_refused(self):
        idempotency.claim(identity())

        with pytest.raises(idempotency.IdempotencyMismatch):
            idempotency.replay(identity("b"))


@pytest.mark.django_db(transaction=True)
class TestTwoAtOnce:
    def test_the_second_gets_a_409(self, monkeypatch):
        monkeypatch.setattr(idempotency, "LOCK_TIMEOUT", "50ms")
        claimed, release = threading.Event(), threading.Event()

        def hold():
            with transaction.atomic():
                idempotency.claim(identity())
                claimed.set()
                release.wait(10)
            connection.close()

        other = threading.Thread(target=hold)
        other.start()
        claimed.wait(10)
        try:
            with pytest.raises(idempotency.IdempotencyRunning) as refused:
                idempotency.run_once(identity(), lambda: (201, {}))
        finally:
            release.set()
            other.join()

        assert refused.value.retry_after == 1

    def test_only_one_of_many_acts(self):
        acted, answers = [], []

        def act():
            acted.append(1)
            return 201, {"n": len(acted)}

        def send():
            answers.append(idempotency.run_once(identity(), act))
            connection.close()

        threads = [threading.Thread(target=send) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert len(acted) == 1
        assert [answer.body for answer in answers] == [{"n": 1}] * 6

    def test_the_lock_timeout_is_reset(self):
        def act():
            with connection.cursor() as cursor:
                cursor.execute("SHOW lock_timeout")
                return 200, {"timeout": cursor.fetchone()[0]}

        assert idempotency.run_once(identity(), act).body == {"timeout": "10s"}

    def test_a_refused_act_can_be_sent_again(self):
        def refuse():
            raise errors.StateConflict

        with pytest.raises(errors.StateConflict):
            idempotency.run_once(identity(), refuse)

        assert idempotency.run_once(identity(), lambda: (201, {})).is_replay is False
