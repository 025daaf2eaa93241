"""Searches and context read from a replica, and the primary answers for one that fails.

The replica of these tests is a second connection to the database of the tests.
"""

from __future__ import annotations

import pytest
from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction
from django.db.utils import OperationalError
from django.test.utils import CaptureQueriesContext

from common import replicas
from common.caller import SYSTEM
from jobs.models import Job
from memories.models import Memory
from memories.store import write
from memories.store.drafts import Draft

pytestmark = pytest.mark.django_db(transaction=True, databases="__all__")
REPLICA = "replica1"


@pytest.fixture(scope="module", autouse=True)
def replica_settings(django_db_setup):
    followed = connections[DEFAULT_DB_ALIAS].settings_dict
    connections.settings[REPLICA] = {
        **followed,
        "OPTIONS": {**followed["OPTIONS"], "connect_timeout": 2},
        "TEST": {**followed["TEST"], "MIRROR": DEFAULT_DB_ALIAS},
    }
    yield
    del connections.settings[REPLICA]


@pytest.fixture(autouse=True)
def replica(transactional_db, replica_settings):
    yield connections[REPLICA]
    connections[REPLICA].close()
    del connections[REPLICA]


@pytest.fixture
def remember(project):
    def store(content):
        draft = Draft(content=content, memory_type="learning")
        return write.store(project, draft, SYSTEM).memory

    return store


@pytest.fixture
def replica_queries(replica):
    """Count the queries that a request sends to the replica."""

    def count(send):
        with CaptureQueriesContext(replica) as captured:
            answer = send()
        return answer, [query["sql"] for query in captured]

    return count


@pytest.fixture
def search(alice_api, project):
    def send():
        body = {"project_id": str(project.pk), "query": "celery"}
        answer = alice_api.post("/api/v1/search", body, format="json")
        assert answer.status_code == 200, answer.content
        return answer.json()["hits"]

    return send


def test_a_replica_answers_searches(remember, replica_queries, search):
    remember("Celery asks the broker")
    found, statements = replica_queries(search)

    assert len(found) == 1
    assert any("memories_memory" in sql for sql in statements)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("context", {"task_description": "Celery asks the broker"}),
        ("context", {"query": "celery", "parts": ["digest"]}),
    ],
)
def test_it_answers_for_context_too(
    path, body, remember, replica_queries, alice_api, project
):
    remember("Celery asks the broker")
    body["project_id"] = str(project.pk)
    answer, statements = replica_queries(
        lambda: alice_api.post(f"/api/v1/{path}", body, format="json")
    )

    assert "Celery asks the broker" in answer.json()["text"]
    assert any("memories_memory" in sql for sql in statements)


class TestOneThatFails:
    def test_the_primary_answers_for_one_that_is_away(self, replica, remember, search):
        remember("Celery asks the broker")
        replica.settings_dict = {**replica.settings_dict, "HOST": "/nowhere"}

        assert len(search()) == 1

    def test_the_primary_answers_for_one_that_dies_on_the_way(self, remember):
        remember("Celery asks the broker")
        used = []

        def count():
            rows = Memory.objects.all()
            used.append(rows.db)
            if rows.db == REPLICA:
                raise OperationalError("the server closed the connection")
            return rows.count()

        assert replicas.read_from_replica(count) == 1
        assert used == [REPLICA, DEFAULT_DB_ALIAS]

    def test_what_takes_too_long_is_not_asked_again(self, replica):
        used = []

        def wait():
            used.append(Memory.objects.all().db)
            with replica.cursor() as cursor:
                cursor.execute("SET statement_timeout = 1")
                cursor.execute("SELECT pg_sleep(9)")

        with pytest.raises(OperationalError, match="timeout"):
            replicas.read_from_replica(wait)
        assert used == [REPLICA]


class TestWhatIsNeverRead:
    def test_a_write_ends_the_reading(self, remember):
        def write_and_read():
            remember("Celery asks the broker")
            return Memory.objects.all().db

        assert replicas.read_from_replica(write_and_read) == DEFAULT_DB_ALIAS

    def test_a_write_is_not_repeated(self, remember):
        def write_and_fail():
            remember("Celery asks the broker")
            raise OperationalError("the server closed the connection")

        with pytest.raises(OperationalError):
            replicas.read_from_replica(write_and_fail)
        assert Memory.objects.count() == 1

    def test_nothing_inside_a_transaction(self):
        with transaction.atomic():
            read = replicas.read_from_replica(lambda: Memory.objects.all().db)

        assert read == DEFAULT_DB_ALIAS

    def test_no_jobs(self):
        read = replicas.read_from_replica(lambda: Job.objects.all().db)

        assert read == DEFAULT_DB_ALIAS

    def test_nothing_outside_of_those_reads(self, replica_queries, alice_api):
        _, statements = replica_queries(lambda: alice_api.get("/api/v1/memories"))

        assert statements == []
        assert connection.alias == DEFAULT_DB_ALIAS
