"""Export and import of sessions and agent memories: whole, once, and with sentences."""

from __future__ import annotations

import gzip
import json
from operator import attrgetter

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import IntegrityError
from psycopg.errors import UniqueViolation

from common import errors
from conversations.exchange import restore_sessions as restore_module
from conversations.exchange.export_sessions import export_lines
from conversations.exchange.restore_sessions import BrokenExport, restore_sessions
from conversations.models import (
    AgentMemory,
    AgentMemoryChange,
    Message,
    Session,
    Summary,
    new_summary_id,
)
from tests.conversations.conftest import SessionApi, call, say, talk

pytestmark = pytest.mark.django_db
PAIR = {"user_id": "42", "agent_id": "agent"}


@pytest.fixture
def history(session_api, project):
    """A session with calls, summaries, an undo, a redaction and a snapshot; and its notes."""
    session_api.bootstrap("main", user_id="42", channel="cli", metadata={"branch": "x"})
    session_api.append(*talk(30))
    result = {"type": "tool_result", "id": "c1", "name": "Bash", "content": "no rule"}
    session_api.append(call("c1", command="make"), {"role": "tool", "parts": [result]})
    session_api.append(*talk(40, start=31))
    session_api.post("sessions/main/compact", mode="full")
    session_api.put("agent-memory/profile", text="Likes Go", **PAIR)
    session_api.post("sessions/main/snapshot")
    session_api.put("agent-memory/profile", text="Likes Rust", **PAIR)
    session_api.post("agent-memory/constraints", text="Never push", **PAIR)
    session_api.post("agent-memory/rollback", scope="profile", version=1, **PAIR)
    session_api.post("sessions/main/messages/72/redact", reason="a name")
    session_api.delete("sessions/main/messages", from_seq=71)
    session_api.bootstrap("empty")
    session_api.patch("sessions/empty", archived=True)
    return session_api


@pytest.fixture
def lines(history, project, alice):
    return [line.encode() for line in export_lines(project, alice)]


@pytest.fixture
def copy_api(client_of, other_project):
    return SessionApi(client_of(other_project), other_project)


def restore(project, lines, caller):
    *_, counts = restore_sessions(project, lines, caller)
    return counts


def edited(lines, number, **fields):
    value = json.loads(lines[number]) | fields
    return [*lines[:number], json.dumps(value).encode(), *lines[number + 1 :]]


def first_of(lines, kind):
    return next(n for n, line in enumerate(lines) if json.loads(line)["type"] == kind)


def story(api):
    """What a reader gets of the session `main`, without ids and times of the copy."""
    summaries = api.get("sessions/main/summaries").json()["results"]
    place = {each["id"]: n for n, each in enumerate(summaries)}
    messages = [
        {name: value for name, value in each.items() if name != "id"}
        for each in api.history()
    ]
    hidden = {"id", "project_id", "created_at"}
    session = api.get("sessions/main").json()
    return {
        "session": {n: value for n, value in session.items() if n not in hidden},
        "messages": messages,
        "summaries": [
            each | {"id": place[each["id"]], "parent": place.get(each["parent"])}
            for each in summaries
        ],
        "stats": api.get("sessions/main/stats").json(),
        "tokens": api.assemble(token_budget=900)["tokens"],
        "profile": [
            api.get("agent-memory/profile", version=version, **PAIR).json()
            for version in range(5)
        ],
        "frozen": api.get("agent-memory/profile", session="main").json(),
        "constraints": api.get("agent-memory/constraints", **PAIR).json(),
        "changes": [
            {n: value for n, value in each.items() if n not in ("id", "session")}
            for each in api.get("agent-memory/changes", limit=100, **PAIR).json()[
                "results"
            ]
        ],
    }


def lose_first_race(function):
    """Run a function; the first time, fail as if another writer took a unique name first."""
    calls = []

    def run(*args, **kwargs):
        result = function(*args, **kwargs)
        calls.append(args)
        if len(calls) == 1:
            raise IntegrityError from UniqueViolation()
        return result

    return run


class TestARoundTrip:
    def test_the_same_people_write_the_copy(
        self, history, other_project, charlie, lines
    ):
        writers = ["user", "a" * 32]
        Session.objects.filter(key="main").update(writers=writers)
        line = first_of(lines, "session")

        restore(other_project, edited(lines, line, writers=writers), charlie)

        copy = Session.objects.get(project=other_project, key="main")
        assert copy.writers == writers

    def test_the_copy_tells_the_same_story(
        self, history, copy_api, other_project, charlie, lines
    ):
        counts = restore(other_project, lines, charlie)

        assert story(copy_api) == story(history)
        assert (counts.sessions, counts.messages, counts.agent_memories) == (2, 72, 1)

    def test_the_copy_expands_to_the_original_words(
        self, copy_api, other_project, charlie, lines
    ):
        restore(other_project, lines, charlie)

        words = [each["content"] for each in copy_api.history()]
        leaves = Summary.objects.filter(session__project=other_project, kind="leaf")
        for leaf in leaves:
            url = f"/api/v1/summaries/{leaf.summary_id}/expand"
            found = copy_api.client.get(url, {"token_cap": 10**6})
            expanded = [each["content"] for each in found.json()["messages"]]
            assert expanded == words[leaf.first_seq - 1 : leaf.last_seq]
        assert leaves

    def test_exporting_the_copy_gives_the_same_lines(
        self, other_project, charlie, lines, alice, project
    ):
        for summary in Summary.objects.all():  # frees the ids for the copy
            Summary.objects.filter(pk=summary.pk).update(summary_id=new_summary_id())
        restore(other_project, lines, charlie)

        again = [line.encode() for line in export_lines(other_project, charlie)]

        assert sorted(again) == sorted(lines)

    def test_hidden_and_redacted_messages_stay_so(
        self, copy_api, other_project, charlie, lines
    ):
        restore(other_project, lines, charlie)

        rows = Message.objects.filter(project_id=other_project.pk)
        assert rows.exclude(hidden_at=None).count() == 2
        assert rows.get(seq=72, session__key="main").text == "[redacted]"

    def test_words_and_meaning_are_found_in_the_copy(
        self, copy_api, other_project, charlie, lines, run_jobs
    ):
        restore(other_project, lines, charlie)
        run_jobs()

        for mode in ("keyword", "semantic"):
            found = copy_api.post("sessions/search", query="missing token", mode=mode)
            assert found.json()["results"], mode

    def test_texts_that_are_longer_than_a_write_may_be_are_kept(
        self, copy_api, other_project, charlie, lines
    ):
        number, long = first_of(lines, "agent_memory"), "x" * 40_000
        lines = edited(lines, number, profile=long, soul=long)

        restore(other_project, lines, charlie)

        memory = AgentMemory.objects.get(project=other_project)
        assert (memory.profile, memory.soul) == (long, long)


class TestRepetition:
    def test_a_second_import_stores_nothing(self, other_project, charlie, lines):
        restore(other_project, lines, charlie)
        tables = (Session, Message, Summary, AgentMemory, AgentMemoryChange)
        before = [table.objects.count() for table in tables]

        counts = restore(other_project, lines, charlie)

        assert [table.objects.count() for table in tables] == before
        assert (counts.sessions, counts.known_sessions) == (0, 2)
        assert counts.known_agent_memories == 1

    def test_what_the_project_has_is_kept(
        self, copy_api, other_project, charlie, lines
    ):
        copy_api.bootstrap("main", user_id="42")
        copy_api.append(say("My own words"), user_id="42")
        copy_api.put("agent-memory/profile", text="My own", **PAIR)

        restore(other_project, lines, charlie)

        assert [each["content"] for each in copy_api.history()] == ["My own words"]
        profile = copy_api.get("agent-memory/profile", **PAIR).json()
        assert profile["text"] == "My own"
        assert copy_api.get("sessions/empty").status_code == 200

    def test_a_file_that_was_cut_stores_whole_sessions_and_goes_on_later(
        self, other_project, charlie, lines
    ):
        end = first_of(lines, "agent_memory")
        with pytest.raises(BrokenExport, match="ends"):
            restore(other_project, lines[: end - 1][:-20], charlie)
        assert not Message.objects.filter(project_id=other_project.pk).exists()

        counts = restore(other_project, lines, charlie)

        assert counts.messages == 72


@pytest.mark.django_db(transaction=True)
class TestALostRace:
    """A part whose transaction fails is stored as a whole by the next import."""

    @pytest.mark.parametrize(
        "name", ["Session.add_up", "AgentMemoryChange.objects.bulk_create"]
    )
    def test_the_import_says_so_and_the_next_one_stores_the_part_whole(
        self, copy_api, history, other_project, lines, tmp_path, monkeypatch, name
    ):
        path = tmp_path / "all.jsonl"
        path.write_bytes(b"\n".join(lines))
        target = {"project": other_project.name}
        place = f"conversations.exchange.restore_sessions.{name}"
        with monkeypatch.context() as patch:
            patch.setattr(place, lose_first_race(attrgetter(name)(restore_module)))
            with pytest.raises(CommandError, match="Repeat the import"):
                call_command("import_sessions", path, **target)

        call_command("import_sessions", path, **target)

        assert story(copy_api) == story(history)


class TestRefusals:
    @pytest.mark.parametrize(
        ("kind", "fields"),
        [
            ("header", {"version": 3}),
            ("header", {"format": "zebra"}),
            ("session", {"key": "x" * 201}),
            ("session", {"last_active": "yesterday"}),
            ("session", {"messages": -1}),
            ("session", {"zebra": 1}),
            ("summary", {"kind": "trunk"}),
            ("summary", {"summary_id": "sum_'; drop"}),
            ("summary", {"parent": "sum_0000000000000000"}),
            ("message", {"role": "zebra"}),
            ("message", {"seq": 9}),
            ("message", {"parts": [{"type": "zebra"}]}),
            ("message", {"parts": "zebra"}),
            ("message", {"leaf": "sum_0000000000000000"}),
            ("agent_memory", {"profile": ["zebra"]}),
            ("change", {"scope": "zebra"}),
            ("end", {"type": "zebra"}),
        ],
    )
    def test_a_broken_line_is_named_and_its_part_is_not_stored(
        self, other_project, charlie, lines, kind, fields
    ):
        number = first_of(lines, kind)

        with pytest.raises(BrokenExport, match=f"ine {number + 1}"):
            restore(other_project, edited(lines, number, **fields), charlie)

        rows = Session.objects.filter(project=other_project, key="main")
        in_session = kind in ("header", "session", "summary", "message")
        assert rows.exists() != in_session

    @pytest.mark.parametrize("line", [b"", b"[]", b"null", b"\xff", b"[" * 9_999])
    def test_a_line_that_is_no_object_is_refused(self, other_project, charlie, line):
        with pytest.raises(BrokenExport, match="ine 1"):
            restore(other_project, [line], charlie)

    def test_an_empty_file_is_refused(self, other_project, charlie):
        with pytest.raises(BrokenExport, match="ends"):
            restore(other_project, [], charlie)

    def test_only_owners_export_and_import(self, project, bob, charlie, lines):
        for caller in (bob, charlie):
            with pytest.raises(errors.Refusal):
                next(export_lines(project, caller))
            with pytest.raises(errors.Refusal):
                restore(project, lines, caller)

    def test_the_quota_of_sessions_holds(self, other_project, charlie, lines):
        other_project.settings |= {"conversations": {"sessions_per_user": 1}}
        other_project.save()
        more = edited(lines, first_of(lines, "session"), user_id="")
        with pytest.raises(errors.Refusal) as refused:
            restore(other_project, more, charlie)

        assert refused.value.code == "too_many_sessions"

    def test_characters_that_cannot_be_stored_are_replaced(
        self, other_project, charlie, lines
    ):
        number = first_of(lines, "message")
        parts = [{"type": "text", "text": "a\0b\ud800c"}]

        restore(other_project, edited(lines, number, parts=parts), charlie)

        stored = Message.objects.get(project_id=other_project.pk, seq=1)
        assert stored.text == "a\ufffdb\ufffdc"

    def test_secrets_in_a_file_are_masked(self, other_project, charlie, lines):
        number = first_of(lines, "message")
        secret = "password = hunter2hunter2"
        parts = [{"type": "text", "text": secret}]

        restore(other_project, edited(lines, number, parts=parts), charlie)

        stored = Message.objects.get(project_id=other_project.pk, seq=1)
        assert "hunter2" not in stored.text


class TestTheCommands:
    def test_a_file_goes_from_one_project_into_another(
        self, history, copy_api, project, other_project, tmp_path, capsys
    ):
        for name in ("all.jsonl", "all.jsonl.gz"):
            call_command("export_sessions", tmp_path / name, project=project.name)
        plain = (tmp_path / "all.jsonl").read_bytes()
        assert gzip.decompress((tmp_path / "all.jsonl.gz").read_bytes()) == plain

        path = tmp_path / "all.jsonl.gz"
        target = {"project": other_project.name}
        call_command("import_sessions", path, dry_run=True, **target)
        assert not Session.objects.filter(project=other_project).exists()
        call_command("import_sessions", path, **target)

        assert story(copy_api) == story(history)
        assert "2 sessions with 72 messages" in capsys.readouterr().out

    def test_a_broken_file_and_a_wrong_place_end_in_a_sentence(
        self, lines, project, other_project, tmp_path
    ):
        path = tmp_path / "cut.jsonl"
        path.write_bytes(b"\n".join(lines[:3]))
        with pytest.raises(CommandError, match="ends"):
            call_command("import_sessions", path, project=other_project.name)
        with pytest.raises(CommandError, match="cannot be written"):
            call_command(
                "export_sessions", tmp_path / "none" / "x", project=project.name
            )
        with pytest.raises(CommandError, match="project"):
            call_command("export_sessions", path, project="zebra")
