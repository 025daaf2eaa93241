from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from agents.learning import invocation_job
from audit.models import AuditEvent
from common.caller import Role
from conversations.exchange.export_sessions import export_lines
from conversations.exchange.restore_sessions import restore_sessions
from conversations.invocations import record
from conversations.invocations.switch import MemoryOff, is_memory_on, set_memory
from conversations.models import Invocation, MemorySwitch, Session
from jobs.models import Job
from tests.agents.runs import make_run
from tests.conversations.conftest import SessionApi

pytestmark = pytest.mark.django_db
TALK = "conversations/chat-7"
QUESTIONS = ("Is staging up?", "And production?")


@pytest.fixture
def talk(session_api):
    """The conversation chat-7 of user 42, with two invocations."""
    for question in QUESTIONS:
        answer = add(session_api, query=question)
        assert answer.status_code == 201, answer.json()
    return session_api


def add(api, path=TALK, user="42", query="Hello?", **fields):
    fields = {"summary": "Asked the check.", "result": "It is up.", **fields}
    return api.post(f"{path}/invocations", user=user, query=query, **fields)


def read(api, user="42", path=TALK, **query):
    answer = api.get(path, user=user, **query)
    assert answer.status_code == 200, answer.json()
    return answer.json()["conversation"]


def queries(conversation):
    return [each["query"] for each in conversation["invocations"]]


class TestInvocations:
    def test_they_are_read_in_order_with_the_fields_of_the_seed(self, talk):
        conversation = read(talk)

        assert queries(conversation) == list(QUESTIONS)
        assert conversation["conversation_id"] == "chat-7"
        assert conversation["metadata"] == {}
        first = conversation["invocations"][0]
        assert first["summary"] == "Asked the check."
        assert first["result"] == "It is up."
        assert first["timestamp"]

    def test_the_first_one_begins_the_conversation(self, talk):
        session = Session.objects.get()

        assert (session.key, session.user_id) == ("chat-7", "42")
        assert session.agent_id == "react-mem"

    def test_a_timestamp_is_kept(self, session_api):
        add(session_api, timestamp="2026-01-02T03:04:05Z")

        (invocation,) = read(session_api)["invocations"]
        assert invocation["timestamp"].startswith("2026-01-02T03:04:05")

    def test_an_existing_session_keeps_its_agent(self, session_api):
        session_api.bootstrap("chat-7", user_id="42", agent_id="other")

        assert add(session_api).status_code == 201
        assert Session.objects.get().agent_id == "other"

    def test_limit_shows_the_newest(self, talk):
        conversation = read(talk, limit=1)

        assert queries(conversation) == [QUESTIONS[1]]
        assert conversation["invocation_count"] == 2

    def test_an_idempotency_key_adds_once(self, session_api):
        for _ in range(2):
            answer = add(session_api, headers={"Idempotency-Key": "k"})

        assert answer.status_code == 201
        assert Invocation.objects.count() == 1

    def test_a_run_is_added_once(self, talk, project, alice):
        session, run = Session.objects.get(), uuid.uuid4()
        rows = [
            record.append_invocation(session, "Q", "S", "R", alice, run_id=run)
            for _ in range(2)
        ]

        assert rows[0].pk == rows[1].pk
        assert queries(read(talk)) == [*QUESTIONS, "Q"]

    def test_a_full_conversation_takes_no_more(self, talk, monkeypatch):
        monkeypatch.setattr(record, "MAX_INVOCATIONS", 2)

        answer = add(talk)

        assert (answer.status_code, answer.json()["code"]) == (
            409,
            "too_many_invocations",
        )

    @pytest.mark.parametrize(
        ("fields", "named"),
        [
            ({"query": ""}, "query"),
            ({"query": "x" * 20_001}, "query"),
            ({"result": "x" * 20_001}, "result"),
            ({"timestamp": "noon"}, "timestamp"),
            ({"steps": []}, "steps"),
        ],
    )
    def test_a_wrong_body_names_its_field(self, session_api, fields, named):
        answer = add(session_api, **fields)

        assert answer.status_code == 400
        assert named in answer.json()["errors"]
        assert not Session.objects.exists()

    def test_a_long_id_is_refused(self, session_api):
        answer = add(session_api, f"conversations/{'x' * 201}")

        assert answer.status_code == 400
        assert "conversation_id" in answer.json()["errors"]

    def test_the_user_may_stand_in_the_query(self, session_api):
        path = f"{TALK}/invocations?user=42"
        assert session_api.post(path, query="Hello?").status_code == 201
        differs = session_api.post(path, query="Hello?", user="43")

        assert queries(read(session_api)) == ["Hello?"]
        assert differs.status_code == 400


@pytest.mark.django_db(transaction=True)
def test_invocations_at_the_same_time_have_their_own_places(project, alice):
    session = record.begin_conversation(project, "chat-7", "", alice)
    run = uuid.uuid4()

    def append(n):
        try:
            return record.append_invocation(
                session, f"Q{n % 4}", "", "", alice, run_id=run if n % 4 == 0 else None
            ).seq
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(append, range(8)))

    seqs = list(Invocation.objects.order_by("seq").values_list("seq", flat=True))
    assert seqs == [1, 2, 3, 4, 5, 6, 7]


class TestWho:
    def test_another_user_has_no_such_conversation(self, talk):
        assert talk.get(TALK, user="43").status_code == 404
        assert talk.patch(TALK, user="43", metadata={"a": 1}).status_code == 404
        assert talk.delete(TALK, user="43").status_code == 404
        assert talk.post(f"{TALK}/end", user="43").status_code == 404
        assert queries(read(talk)) == list(QUESTIONS)

    def test_another_user_begins_an_own_one(self, talk):
        add(talk, user="43", query="Mine")

        assert queries(read(talk, user="43")) == ["Mine"]
        assert queries(read(talk)) == list(QUESTIONS)

    def test_without_a_user_only_anonymous_ones_are_found(self, talk):
        assert talk.get(TALK).status_code == 404
        add(talk, user="0", query="Anonymous")

        assert queries(read(talk, user="")) == ["Anonymous"]

    def test_a_bound_key_finds_its_own_without_a_name(self, talk, client_of, project):
        bound = SessionApi(client_of(project, role=Role.WRITER, user_id="42"), project)

        assert queries(bound.get(TALK).json()["conversation"]) == list(QUESTIONS)

    def test_a_bound_key_finds_nobody_elses(self, talk, client_of, project):
        other = SessionApi(client_of(project, role=Role.OWNER, user_id="43"), project)
        session = Session.objects.get().pk

        for path in (TALK, f"conversations/{session}"):
            for query in ({}, {"user": "42"}):
                assert other.get(path, **query).status_code == 404
        assert add(other).status_code == 404

    def test_charlie_finds_nothing(self, talk, charlie_api, project, other_project):
        assert SessionApi(charlie_api, project).get(TALK, user="42").status_code == 404
        own = SessionApi(charlie_api, other_project)
        session = Session.objects.get().pk
        assert own.get(f"conversations/{session}", user="42").status_code == 404

    def test_a_viewer_reads_only(self, talk, client_of, project):
        viewer = SessionApi(client_of(project, role=Role.VIEWER), project)

        assert queries(read(viewer)) == list(QUESTIONS)
        assert add(viewer).status_code == 403
        assert viewer.delete(TALK, user="42").status_code == 403


class TestMetadata:
    def test_it_is_merged_and_null_removes(self, talk):
        talk.patch(TALK, user="42", metadata={"a": 1, "b": 2})
        answer = talk.patch(TALK, user="42", metadata={"b": None})

        assert answer.json()["conversation"]["metadata"] == {"a": 1}
        assert answer.json()["error"] is None


class TestDelete:
    def test_the_invocations_are_hidden_and_messages_stay(self, talk, project, alice):
        talk.append({"role": "user", "content": "Is staging up?"}, key="chat-7")

        answer = talk.delete(TALK, user="42")

        assert answer.json() == {"success": True, "error": None}
        session = Session.objects.get()
        assert not record.list_invocations(session, alice).exists()
        assert read(talk)["invocations"] == []
        assert len(talk.history("chat-7")) == 1
        assert AuditEvent.objects.filter(verb="conversation.delete").count() == 1

    def test_a_later_invocation_goes_on_after_them(self, talk):
        talk.delete(TALK, user="42")
        add(talk, query="Again?")

        assert queries(read(talk)) == ["Again?"]
        assert Invocation.objects.count() == 3

    def test_a_repeated_run_stays_hidden(self, talk, project, alice):
        session, run = Session.objects.get(), uuid.uuid4()
        record.append_invocation(session, "Q", "S", "R", alice, run_id=run)
        talk.delete(TALK, user="42")
        record.append_invocation(session, "Q", "S", "R", alice, run_id=run)

        assert read(talk)["invocations"] == []

    def test_a_run_that_had_begun_is_hidden_and_a_later_one_is_not(
        self, talk, project, alice, run_jobs
    ):
        session = Session.objects.get()
        invocation_job.enqueue(make_run(project, session, answer="Before"))
        talk.delete(TALK, user="42")
        run_jobs()
        assert read(talk)["invocations"] == []

        invocation_job.enqueue(make_run(project, session, answer="After"))
        run_jobs()

        assert [row["result"] for row in read(talk)["invocations"]] == ["After"]


class TestMemoryOff:
    def test_a_conversation_that_is_off_takes_no_invocation(self, talk):
        off = talk.patch(TALK, user="42", enabled=False)
        answer = add(talk)

        assert off.json()["conversation"]["enabled"] is False
        assert (answer.status_code, answer.json()["code"]) == (409, "memory_off")
        assert talk.patch(TALK, user="42", enabled=True).status_code == 200
        assert add(talk).status_code == 201

    def test_a_user_who_is_off_begins_no_conversation(self, session_api):
        session_api.patch("users/42/memory", enabled=False)

        assert add(session_api).json()["code"] == "memory_off"
        assert not Invocation.objects.exists()

    def test_it_holds_for_work_that_began_before(self, talk, project, alice):
        session = Session.objects.get()
        talk.patch(TALK, user="42", enabled=False)

        assert not is_memory_on(project, "42", session)
        with pytest.raises(MemoryOff):
            record.append_invocation(session, "Q", "S", "R", alice)


class TestTheSwitchOfAUser:
    def test_it_is_read_and_set(self, session_api):
        assert session_api.get("users/42/memory").json()["enabled"] is True

        answer = session_api.patch("users/42/memory", enabled=False)

        assert answer.json() == {"user_id": "42", "enabled": False}
        assert session_api.get("users/42/memory").json()["enabled"] is False

    def test_a_change_is_audited_once(self, session_api):
        for _ in range(2):
            session_api.patch("users/42/memory", enabled=False)

        assert AuditEvent.objects.filter(verb="memory_switch.update").count() == 1
        assert MemorySwitch.objects.count() == 1

    def test_a_user_may_turn_the_own_memory_off_and_no_other(self, client_of, project):
        key = client_of(project, role=Role.WRITER, user_id="42")
        own = SessionApi(key, project)

        assert own.patch("users/42/memory", enabled=False).status_code == 200
        assert own.patch("users/43/memory", enabled=False).status_code == 404

    def test_a_writer_that_speaks_for_nobody_turns_nobodys_off(
        self, client_of, project
    ):
        writer = SessionApi(client_of(project, role=Role.WRITER), project)

        for user in ("42", "0"):
            answer = writer.patch(f"users/{user}/memory", enabled=False)
            assert answer.status_code == 403
        assert is_memory_on(project, "43")

    def test_charlie_and_a_viewer_may_not(self, client_of, project, charlie_api):
        viewer = SessionApi(client_of(project, role=Role.VIEWER), project)
        charlie = SessionApi(charlie_api, project)

        assert viewer.patch("users/42/memory", enabled=False).status_code == 403
        assert charlie.patch("users/42/memory", enabled=False).status_code == 404
        assert is_memory_on(project, "42")

    def test_zero_is_the_anonymous_user(self, session_api, project):
        session_api.patch("users/0/memory", enabled=False)

        assert not is_memory_on(project, "")
        assert is_memory_on(project, "42")


class TestEnd:
    def test_it_is_marked_and_a_job_learns_once(self, talk):
        for _ in range(2):
            answer = talk.post(f"{TALK}/end", user="42")

        assert answer.json() == {"success": True, "error": None}
        assert read(talk)["ended_at"]
        assert Job.objects.filter(kind="agent_conversation").count() == 1

    def test_a_later_invocation_goes_on_with_it(self, talk):
        talk.post(f"{TALK}/end", user="42")
        add(talk)

        assert read(talk)["ended_at"] is None


class TestExchange:
    def test_a_copy_has_the_invocations_and_the_switches(
        self, talk, project, alice, other_project, charlie
    ):
        talk.delete(TALK, user="42")
        add(talk, query="Again?")
        talk.patch(TALK, user="42", enabled=False)
        set_memory(project, "43", False, alice)
        lines = [line.encode() for line in export_lines(project, alice)]

        for _ in range(2):
            list(restore_sessions(other_project, lines, charlie))

        copy = Session.objects.get(project=other_project)
        assert copy.has_memory is False
        assert [row.query for row in record.list_invocations(copy, charlie)] == [
            "Again?"
        ]
        assert Invocation.objects.filter(session=copy).count() == 3
        assert not is_memory_on(other_project, "43")

    def test_a_file_of_the_first_version_is_read(
        self, talk, project, alice, other_project, charlie
    ):
        import json

        lines = []
        for line in export_lines(project, alice):
            value = json.loads(line)
            if value["type"] == "header":
                value["version"] = 1
            for name in ("has_memory", "scanned_invocation", "invocations"):
                value.pop(name, None)
            if value["type"] not in ("invocation", "memory_switch"):
                lines.append(json.dumps(value).encode())

        list(restore_sessions(other_project, lines, charlie))

        copy = Session.objects.get(project=other_project)
        assert copy.has_memory
        assert not copy.invocations.exists()


class TestPurge:
    def test_a_purge_of_a_user_leaves_no_invocation(self, talk):
        add(talk, user="43", query="Stays")
        talk.patch("users/42/memory", enabled=False)

        answer = talk.post("purge", user_id="42", reason="asked")

        assert answer.status_code == 200, answer.json()
        assert [row.query for row in Invocation.objects.all()] == ["Stays"]
        assert not MemorySwitch.objects.exists()
