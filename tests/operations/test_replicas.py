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
from tests.operations import standby

pytestmark = [
    pytest.mark.django_db(transaction=True, databases="__all__"),
    pytest.mark.skipif(bool(standby.absent()), reason=standby.absent()),
    pytest.mark.timeout(300),  # the first test copies the database
]


@pytest.fixture(scope="module")
def standby_data(django_db_setup):
    """The replica's; Django's `replica1` follows the database of the tests."""
    followed = connections[DEFAULT_DB_ALIAS].settings_dict
    with standby.run() as standby_data:
        connections.settings["replica1"] = {
            **followed,
            "HOST": str(standby_data.sockets),
            "OPTIONS": {**followed["OPTIONS"], "connect_timeout": 2},
            "TEST": {**followed["TEST"], "MIRROR": DEFAULT_DB_ALIAS},
        }
        yield standby_data
        del connections.settings["replica1"]


@pytest.fixture
def replica(transactional_db, standby_data, settings, monkeypatch):
    monkeypatch.setattr(replicas, "_contacts", {})
    settings.DATABASE_REPLICA_LAG = 0
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = on")
    yield "replica1"
    with connection.cursor() as cursor:
        cursor.execute("RESET synchronous_commit")
    connections["replica1"].close()
    connections["replica1"].settings_dict["HOST"] = str(standby_data.sockets)


@pytest.fixture
def remember(project):
    def store(content):
        draft = Draft(content=content, memory_type="learning")
        return write.store(project, draft, SYSTEM).memory

    return store


@pytest.fixture
def follows(replica, monkeypatch):
    """Let a read wait until the replica has caught up, however busy the machine is."""
    monkeypatch.setattr(replicas, "CATCH_UP_SECONDS", 60.0)


@pytest.fixture
def paused_standby(standby_data):
    """Pause the replica's replay."""
    with standby.pause_replay(standby_data):
        yield


@pytest.fixture
def replica_queries(replica):
    """Count the queries that a request sends to the replica."""

    def count(send):
        with CaptureQueriesContext(connections[replica]) as captured:
            answer = send()
        return answer, [query["sql"] for query in captured]

    return count


@pytest.fixture
def search(alice_api, project):
    def send(query="celery"):
        body = {"project_id": str(project.pk), "query": query}
        answer = alice_api.post("/api/v1/search", body, format="json")
        assert answer.status_code == 200, answer.content
        return answer.json()["hits"]

    return send


class TestSearches:
    def test_a_replica_answers_them(self, remember, follows, replica_queries, search):
        remember("Celery asks the broker")
        found, statements = replica_queries(search)

        assert len(found) == 1
        assert any("memories_memory" in sql for sql in statements)
        assert replicas.describe_contacts()["replica1"].startswith("answered")

    def test_a_recent_write_is_found(
        self, remember, paused_standby, replica_queries, search
    ):
        remember("Celery asks the broker")
        found, _ = replica_queries(search)

        assert len(found) == 1
        assert replicas.describe_contacts()["replica1"].startswith("behind")

    def test_a_lag_that_is_allowed_misses_it(
        self, remember, follows, standby_data, replica_queries, search, settings
    ):
        remember("Celery asks the broker")
        search()
        settings.DATABASE_REPLICA_LAG = 3600
        with standby.pause_replay(standby_data):
            remember("Celery acknowledges early")
            found, _ = replica_queries(search)

        assert len(found) == 1

    @pytest.mark.parametrize(
        ("path", "body"),
        [
            ("context/task", {"task_description": "Celery asks the broker"}),
            ("context/digest", {"query": "celery"}),
        ],
    )
    def test_it_answers_for_context_too(
        self, path, body, remember, follows, replica_queries, alice_api, project
    ):
        remember("Celery asks the broker")
        body["project_id"] = str(project.pk)
        answer, statements = replica_queries(
            lambda: alice_api.post(f"/api/v1/{path}", body, format="json")
        )

        assert "Celery asks the broker" in answer.json()["text"]
        assert any("memories_memory" in sql for sql in statements)


class TestOneThatFails:
    def test_the_primary_answers_for_one_that_is_away(
        self, replica, remember, search, standby_data
    ):
        remember("Celery asks the broker")
        connections[replica].settings_dict["HOST"] = str(standby_data.path / "nowhere")

        assert len(search()) == 1
        assert replicas.describe_contacts()["replica1"].startswith("down 0 s ago")

    def test_it_is_left_alone_for_a_while(
        self, replica, standby_data, search, replica_queries
    ):
        connections[replica].settings_dict["HOST"] = str(standby_data.path / "nowhere")
        search()
        connections[replica].settings_dict["HOST"] = str(standby_data.sockets)
        _, statements = replica_queries(search)

        assert statements == []

    def test_the_primary_answers_for_one_that_dies_on_the_way(
        self, replica, remember, follows, standby_data
    ):
        remember("Celery asks the broker")
        used = []

        def count():
            rows = Memory.objects.all()
            used.append(rows.db)
            if rows.db == replica:
                end_sessions(standby_data)
            return rows.count()

        assert replicas.read_from_replica(count) == 1
        assert used == [replica, DEFAULT_DB_ALIAS]

    def test_what_takes_too_long_is_not_asked_again(self, replica, follows):
        used = []

        def wait():
            rows = Memory.objects.extra(where=["pg_sleep(9) IS NOT NULL"])
            used.append(rows.db)
            with connections[replica].cursor() as cursor:
                cursor.execute("SET statement_timeout = 1")
                cursor.execute("SELECT pg_sleep(9)")

        with pytest.raises(OperationalError, match="timeout"):
            replicas.read_from_replica(wait)
        assert used == [replica]

    def test_a_server_that_takes_writes_is_no_replica(self, replica, search):
        primary = connections[DEFAULT_DB_ALIAS].settings_dict
        connections[replica].settings_dict["HOST"] = primary["HOST"]
        search()

        assert "it takes writes" in replicas.describe_contacts()["replica1"]


class TestWhatIsNeverRead:
    def test_a_write_ends_the_reading(self, replica, follows, remember):

        def write_and_count():
            remember("Celery asks the broker")
            return Memory.objects.count()

        assert replicas.read_from_replica(write_and_count) == 1

    def test_nothing_inside_a_transaction(self, replica, follows):
        with transaction.atomic():
            assert (
                replicas.read_from_replica(lambda: Memory.objects.all().db)
                == DEFAULT_DB_ALIAS
            )

    def test_no_jobs(self, replica, follows):

        assert (
            replicas.read_from_replica(lambda: Job.objects.all().db) == DEFAULT_DB_ALIAS
        )

    def test_nothing_outside_of_those_reads(
        self, replica, follows, replica_queries, alice_api
    ):
        _, statements = replica_queries(lambda: alice_api.get("/api/v1/memories"))

        assert statements == []


def end_sessions(standby_data):
    """Let the replica end all sessions of the tests, and wait until none is left."""
    sessions = "FROM pg_stat_activity WHERE datname LIKE 'test%'"
    standby.ask(standby_data, f"SELECT count(pg_terminate_backend(pid)) {sessions}")
    standby.wait_for(standby_data, f"SELECT count(*) {sessions}", 0)
