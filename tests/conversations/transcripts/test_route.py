"""A transcript is sent in parts; nothing is stored twice, and nothing is lost."""

from __future__ import annotations

import gzip
import hashlib
import json
from urllib.parse import urlencode

import pytest

from common.api import expanded_body
from common.caller import Role
from conversations.messages import receive_transcript
from conversations.models import Message, Session, Transcript
from conversations.transcripts.events import recorded_fields
from jobs.models import Job
from tests.conversations.transcripts.test_claude_code import (
    NOTE,
    WORK,
    call,
    line,
    queue,
    queued_command,
    result,
)

pytestmark = pytest.mark.django_db
KEY = "5a1f"
MORE = [line(5, "user", "And the tests?"), call(6, "c2", command="make test")]
MORE += [result(7, "c2", "3 passed"), line(8, "assistant", "They pass.")]


def raw(lines):
    return "".join(json.dumps(each) + "\n" for each in lines).encode()


def sha(data):
    return hashlib.sha256(data).hexdigest()


class TranscriptApi:
    def __init__(self, client, project):
        self.client, self.project = client, project

    def send(self, body, key=KEY, *, headers=None, content_type=None, **query):
        query = {"project_id": str(self.project.pk), "format": "claude-code", **query}
        return self.client.generic(
            "POST",
            f"/api/v1/sessions/{key}/transcript?{urlencode(query)}",
            body,
            content_type or "application/x-ndjson",
            headers=headers,
        )

    def sent(self, body, **query):
        answer = self.send(body, **query)
        assert answer.status_code == 200, answer.json()
        return answer.json()

    def known(self, key=KEY, **query):
        path = f"/api/v1/sessions/{key}/transcript"
        return self.client.get(path, {"project_id": str(self.project.pk), **query})


@pytest.fixture
def api(bob_api, project):
    return TranscriptApi(bob_api, project)


def texts(key=KEY):
    rows = Message.objects.filter(session__key=key).order_by("seq")
    return [row.text for row in rows]


class TestOneFile:
    def test_its_lines_become_the_messages_of_a_session(self, api):
        answer = api.sent(raw(WORK))

        assert (answer["messages"], answer["tasks"], answer["left_out"]) == (5, 1, {})
        assert answer["cursor"] == len(raw(WORK))
        assert answer["prefix"] == sha(raw(WORK))
        session = Session.objects.get(key=KEY)
        assert answer["session"] == str(session.pk)
        assert (session.agent_id, session.channel) == ("claude-code", "claude-code")
        assert texts()[0] == "Fix the build <system-reminder>Be kind</system-reminder>"
        job = Job.objects.get(kind="transcript")
        assert answer["job"] == str(job.pk)

    def test_what_is_known_of_it_can_be_read(self, api):
        answer = api.sent(raw(WORK))

        assert api.known().json() == {
            "format": "claude-code",
            "cursor": answer["cursor"],
            "prefix": answer["prefix"],
        }
        assert api.known(format="codex").status_code == 404
        assert api.known(key="other").status_code == 404

    def test_the_same_file_again_changes_nothing(self, api):
        first = api.sent(raw(WORK))
        Job.objects.all().delete()

        again = api.sent(raw(WORK))

        assert (again["messages"], again["job"]) == (0, None)
        assert (again["cursor"], again["prefix"]) == (first["cursor"], first["prefix"])
        assert len(texts()) == 5
        assert not Job.objects.filter(kind="transcript").exists()

    @pytest.mark.parametrize(
        "named",
        [
            {"headers": {"Content-Encoding": "gzip"}},
            {"content_type": "application/gzip"},
        ],
    )
    def test_it_may_be_gzip(self, api, named):
        pieces = [gzip.compress(raw(WORK[:3])), gzip.compress(raw(WORK[3:]))]

        answer = api.sent(b"".join(pieces), **named)

        assert answer["messages"] == 5
        assert answer["prefix"] == sha(raw(WORK))

    def test_lines_out_of_order_garbage_and_unknown_lines_are_never_fatal(self, api):
        odd = {"type": "later", "words": "new"}
        body = raw([WORK[1], WORK[0], *WORK[2:], odd])
        body += b'{no JSON\n[1]\n\xff\xfe\n{"type": "user"}\n'

        answer = api.sent(body)

        assert texts()[1] == "I look."
        assert answer["left_out"] == {
            "not JSON": 2,
            "no object": 1,
            "malformed: message": 1,
        }
        assert answer["unknown"] == {"type later": 1}
        assert answer["messages"] == 5

    def test_parts_of_a_message_beyond_the_limit_are_counted(self, api):
        block = {"type": "text", "text": "a"}
        wide = {"role": "user", "content": [block] * 5_010}

        answer = api.send(raw([line(1, "user", "x") | {"message": wide}])).json()

        assert answer["left_out"] == {"parts of a message beyond 5,000": 10}
        assert len(Message.objects.get().parts) == 5_000

    def test_a_part_of_too_many_lines_is_refused_whole(self, api):
        short = raw([line(n, "user", "a") for n in range(60_000)])

        answer = api.send(short)

        assert (answer.status_code, answer.json()["code"]) == (413, "too_many_lines")
        assert "60,000 lines" in answer.json()["detail"]
        assert not Message.objects.exists()


class TestItsSuccessor:
    def test_only_the_new_part_is_sent_and_stored(self, api):
        first = api.sent(raw(WORK))

        answer = api.sent(
            raw(MORE),
            cursor=first["cursor"],
            prefix=first["prefix"],
            end_prefix=sha(raw(WORK + MORE)),
        )

        assert answer["messages"] == 4
        assert answer["cursor"] == len(raw(WORK + MORE))
        assert answer["prefix"] == sha(raw(WORK + MORE))
        assert len(texts()) == 9

    def test_the_whole_grown_file_adds_only_the_new(self, api):
        api.sent(raw(WORK))

        assert api.sent(raw(WORK + MORE))["messages"] == 4

    def test_a_last_line_that_is_not_whole_waits_for_the_next_part(self, api):
        body, cut = raw(WORK), 30

        first = api.sent(body[:-cut])
        second = api.sent(
            body[first["cursor"] :], cursor=first["cursor"], prefix=first["prefix"]
        )

        assert first["cursor"] == len(raw(WORK[:-1]))
        assert (first["messages"], second["messages"]) == (4, 1)
        assert second["cursor"] == len(body)

    def test_a_part_names_the_folder_and_branch_of_the_part_before(self, api):
        first = api.sent(raw(WORK))
        bare = {**line(5, "user", "Go on"), "cwd": None, "gitBranch": None}

        api.sent(raw([bare]), cursor=first["cursor"], prefix=first["prefix"])

        last = Message.objects.order_by("-seq").first()
        assert last.metadata["transcript"]["branch"] == "main"

    @pytest.mark.parametrize("wrong", [{"cursor": 7}, {"prefix": "0" * 64}])
    def test_another_place_or_another_beginning_is_refused_and_named(self, api, wrong):
        first = api.sent(raw(WORK))
        given = {"cursor": first["cursor"], "prefix": first["prefix"], **wrong}

        answer = api.send(raw(MORE), **given)

        assert answer.status_code == 409
        problem = answer.json()
        assert problem["code"] == "transcript_cursor"
        assert problem["cursor"] == first["cursor"]
        assert problem["prefix"] == first["prefix"]
        assert len(texts()) == 5

    def test_a_part_without_its_end_prefix_is_followed_by_the_whole_file(self, api):
        first = api.sent(raw(WORK))
        second = api.sent(raw(MORE), cursor=first["cursor"], prefix=first["prefix"])
        whole = raw(WORK + MORE)

        third = api.send(raw([line(9, "user", "More")]), cursor=len(whole), prefix=sha(whole))  # fmt: skip
        again = api.sent(whole)

        assert second["prefix"] == ""
        assert third.status_code == 409
        assert (again["messages"], again["prefix"]) == (0, sha(whole))

    def test_a_rewritten_file_starts_over_without_doubling(self, api):
        api.sent(raw(WORK))
        rewritten = [WORK[0], *WORK[3:], line(5, "user", "New words")]

        answer = api.sent(raw(rewritten))

        assert answer["messages"] == 1
        assert answer["prefix"] == sha(raw(rewritten))
        assert len(texts()) == 6


def gemini_turn(number):
    made = {"id": f"c{number}", "name": "run", "args": {}, "result": "ok"}
    return {
        "id": f"m{number}",
        "type": "gemini",
        "timestamp": f"2026-01-05T13:00:{number:02}Z",
        "content": f"Step {number}",
        "toolCalls": [made],
    }


GO = line(0, "user", "Go")


class TestWhatTheHarnessSays:
    def test_it_is_stored_and_not_searched(self, api):
        words = "<weather_report>Rain</weather_report>"

        answer = api.sent(raw([line(0, "user", words)]))

        row = Message.objects.get()
        assert (row.text, row.has_words) == (words, False)
        assert "rain" not in row.content_tsv
        assert answer["unknown"] == {"element weather_report": 1}


class TestWhatWaitsInTheQueue:
    @pytest.mark.parametrize(
        ("parts", "told"),
        [
            (  # the same words again
                [
                    [GO, queue(1, "enqueue", "on")],
                    [queue(2, "dequeue"), line(3, "user", "on"), queue(4, "enqueue", "on")],
                    [queue(5, "dequeue"), line(6, "user", "on"), line(7, "user", "on")],
                ],
                ["Go", "on", "on", "on"],
            ),
            (  # results before the prompt
                [
                    [GO, call(1, "c1"), call(2, "c2"), queue(3, "enqueue", "x")],
                    [queue(4, "dequeue"), result(5, "c1", "A"), line(6, "user", "x")],
                    [queue(7, "enqueue", "y")],
                    [queue(8, "dequeue"), result(9, "c2", "B"), line(10, "user", "y")],
                ],
                ["Go", "x", "A", "y", "B"],
            ),
            (  # another prompt than the one that waited
                [[GO, queue(1, "enqueue", "x")], [queue(2, "dequeue"), line(3, "user", "z")]],
                ["Go", "x", "z"],
            ),
            (  # what an earlier part queued goes first
                [
                    [GO, queue(1, "enqueue", "x")],
                    [queue(2, "enqueue", "y"), queue(3, "dequeue"), line(4, "user", "x"),
                     queue(5, "dequeue"), line(6, "user", "y")],
                ],
                ["Go", "x", "y"],
            ),
            (  # the same words later, after the harness queued something
                [
                    [GO, queue(1, "enqueue", "on")],
                    [queue(2, "dequeue"), line(3, "user", "on")],
                    [queue(4, "enqueue", "<task-notification>x</task-notification>"),
                     queue(5, "dequeue"), line(6, "user", "on")],
                ],
                ["Go", "on", "on"],
            ),
            (  # the harness queued something after it, which is a line of its own
                [
                    [GO, queue(1, "enqueue", "x")],
                    [queue(2, "enqueue", NOTE), queue(3, "dequeue"), line(4, "user", "x"),
                     queue(5, "dequeue"), line(6, "user", NOTE), queue(7, "enqueue", "y"),
                     queue(8, "dequeue"), line(9, "user", "y")],
                ],
                ["Go", "x", NOTE, "y"],
            ),
            (  # taken back, and typed again without the queue
                [
                    [GO, queue(1, "enqueue", "x")],
                    [queue(2, "popAll"), queue(3, "enqueue", NOTE), queue(4, "dequeue"),
                     line(5, "user", NOTE), line(6, "user", "x"), queue(7, "enqueue", "y"),
                     queue(8, "dequeue"), line(9, "user", "y")],
                ],
                ["Go", "x", NOTE, "x", "y"],
            ),
            (  # the same, where the harness writes its own words in blocks
                [
                    [GO, queue(1, "enqueue", "x")],
                    [queue(2, "popAll"), queue(3, "enqueue", NOTE), queue(4, "dequeue"),
                     line(5, "user", [{"type": "text", "text": NOTE}]), line(6, "user", "x"),
                     queue(7, "enqueue", "z"), queue(8, "dequeue"), line(9, "user", "z")],
                ],
                ["Go", "x", NOTE, "x", "z"],
            ),
            (  # given to the agent at work
                [
                    [GO, queue(1, "enqueue", "x")],
                    [queue(2, "remove"), queued_command(3, "x")],
                ],
                ["Go", "x"],
            ),
        ],
    )  # fmt: skip
    def test_it_is_stored_once_by_parts_and_as_a_whole(self, api, parts, told):
        place, prefix, whole = 0, "", b""
        for part in map(raw, parts):
            whole += part
            given = {"cursor": place, "prefix": prefix} if place else {}
            answer = api.sent(part, end_prefix=sha(whole), **given)
            place, prefix = answer["cursor"], answer["prefix"]
        api.sent(whole)

        rows = Message.objects.order_by("seq").exclude(role="assistant")
        assert [row.parts[0].get("text") or row.parts[0]["content"] for row in rows] == told  # fmt: skip

    def test_words_that_an_old_version_stored_are_told_once(self, api):
        first = raw([GO, queue(1, "enqueue", "x")])
        second = raw([queue(2, "dequeue"), line(3, "user", "x")])
        answer = api.sent(first, end_prefix=sha(first))
        row = Message.objects.get(external_id__startswith="queued:")
        row.metadata = {"claude_code": row.metadata["transcript"]}
        row.save()

        api.sent(second, cursor=answer["cursor"], prefix=answer["prefix"])

        assert texts() == ["Go", "x"]
        row.refresh_from_db()
        assert "waiting" not in recorded_fields(row.metadata)


class TestLimits:
    def test_a_body_that_is_too_large_expanded_keeps_nothing(self, api, settings):
        settings.TRANSCRIPT_LIMIT = 2_000

        for headers in ({"Content-Encoding": "gzip"}, {}):
            body = raw(WORK * 10)
            sent = gzip.compress(body) if headers else body
            answer = api.send(sent, headers=headers)
            assert answer.status_code == 413, answer.json()

        assert not Session.objects.exists()

    def test_a_bomb_is_refused_before_it_is_expanded(self, api, monkeypatch):
        monkeypatch.setattr(expanded_body, "IN_MEMORY", 100_000)
        written = []
        keep = expanded_body._read
        monkeypatch.setattr(
            expanded_body,
            "_read",
            lambda stream: (written.append(len(p)) or p for p in keep(stream)),
        )
        bomb = gzip.compress(b"\n" * 30_000_000)

        answer = api.send(bomb, headers={"Content-Encoding": "gzip"})

        assert answer.status_code == 413
        assert "expands more than" in answer.json()["detail"]
        assert not Session.objects.exists()

    @pytest.mark.parametrize("is_document", [False, True])
    def test_what_has_more_messages_than_a_part_may_add_is_finished_by_sending_it_again(
        self, api, monkeypatch, is_document
    ):
        monkeypatch.setattr(receive_transcript, "MAX_LINES", 6)
        monkeypatch.setattr(receive_transcript, "MAX_MESSAGES", 2)
        head = raw([gemini_turn(0)])
        turns = [gemini_turn(n) for n in range(1, 5)]  # of three messages each
        body = (
            raw([{"messages": [gemini_turn(0), *turns]}]) if is_document else raw(turns)
        )
        given = {"format": "gemini", "final": "1"}
        if not is_document:
            api.sent(head, format="gemini")
            given |= {"cursor": len(head), "prefix": sha(head), "end_prefix": "0" * 64}

        count = 3 if is_document else 2
        answers = [api.sent(body, **given) for _ in range(count)]

        *waiting, last = answers
        for answer in waiting:
            assert (answer["messages"], answer["cursor"]) == (6, given.get("cursor", 0))
            assert answer["left_out"] == {"waits: send the same part again": 1}
            assert answer["job"]
        assert (last["cursor"], last["left_out"]) == (
            given.get("cursor", 0) + len(body),
            {},
        )
        assert Transcript.objects.get().ended_at
        assert len(texts()) == 15

    def test_long_messages_are_stored_a_few_at_a_time(self, api, monkeypatch):
        sizes = []
        append = receive_transcript.append
        monkeypatch.setattr(receive_transcript, "MAX_BATCH", 250)
        monkeypatch.setattr(
            receive_transcript,
            "append",
            lambda project, session, batch, caller: (
                sizes.append(len(batch.messages))
                or append(project, session, batch, caller)
            ),
        )

        api.sent(raw(WORK))

        assert sizes == [2, 3]
        assert len(texts()) == 5

    @pytest.mark.parametrize(
        "body",
        [b"no gzip", gzip.compress(raw(WORK))[:-20], b""],
        ids=["none", "cut", "empty"],
    )
    def test_gzip_that_is_broken_is_refused(self, api, body):
        answer = api.send(body, headers={"Content-Encoding": "gzip"})

        assert answer.status_code == 400
        assert answer.json()["code"] == "broken_gzip"
        assert not Session.objects.exists()

    def test_a_message_with_a_secret_is_masked_or_left_out(self, api, project):
        token = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eFxQ2w"
        lines = [*WORK, line(5, "user", f"Use {token}")]

        api.sent(raw(lines))
        assert token not in texts()[-1]
        project.settings = {**project.settings, "secrets": "reject"}
        project.save()
        answer = api.sent(raw(lines), key="other")

        assert answer["messages"] == 5
        assert list(answer["left_out"].values()) == [1]


class TestWhoMay:
    def test_a_viewer_may_not(self, client_of, project):
        api = TranscriptApi(client_of(project, role=Role.VIEWER), project)

        assert api.send(raw(WORK)).status_code == 403

    def test_charlie_sees_no_project(self, charlie_api, project):
        assert TranscriptApi(charlie_api, project).send(raw(WORK)).status_code == 404

    def test_a_bound_key_writes_as_its_user_and_agent(self, client_of, project):
        bound = client_of(project, role=Role.WRITER, user_id="ana", agent_id="coder")
        TranscriptApi(bound, project).sent(raw(WORK))

        session = Session.objects.get()
        assert (session.user_id, session.agent_id) == ("ana", "coder")

    def test_a_session_of_another_user_with_the_same_key_stays_as_it_is(
        self, client_of, project
    ):
        for user in ("ana", "ben"):
            bound = client_of(project, role=Role.WRITER, user_id=user)
            TranscriptApi(bound, project).sent(raw(WORK))

        assert Session.objects.filter(key=KEY).count() == 2

    def test_it_goes_on_with_a_session_that_is_there(self, api, session_api):
        session_api.bootstrap(KEY, agent_id="other")

        api.sent(raw(WORK))

        assert Session.objects.get().agent_id == "other"
        assert (
            api.send(raw(WORK), agent_id="third").json()["code"] == "session_identity"
        )


def test_a_purge_of_the_session_forgets_the_transcript(api, alice_api, project):
    api.sent(raw(WORK))

    answer = alice_api.post(
        "/api/v1/purge",
        {"project_id": str(project.pk), "session_id": KEY, "reason": "asked"},
        format="json",
    )

    assert answer.status_code in (200, 202), answer.json()
    assert not Transcript.objects.exists()
    assert not Session.objects.exists()


def test_what_a_full_session_has_stored_is_learned_and_the_rest_can_come_later(
    api, project, monkeypatch
):
    monkeypatch.setattr(receive_transcript, "MAX_BATCH", 250)
    first = api.sent(raw(WORK[:1]))
    Job.objects.filter(kind="transcript").delete()
    part = {"cursor": first["cursor"], "prefix": first["prefix"]}
    part["end_prefix"] = sha(raw(WORK + MORE))
    settings = {**project.settings, "conversations": {"messages_per_session": 7}}
    type(project).objects.filter(pk=project.pk).update(settings=settings)

    refused = api.send(raw(WORK[1:] + MORE), **part)

    assert (refused.status_code, refused.json()["code"]) == (409, "too_many_messages")
    known = Transcript.objects.get()
    assert known.last_seq == len(texts()) > 1
    assert known.cursor == first["cursor"]
    assert Job.objects.filter(kind="transcript").exists()
    type(project).objects.filter(pk=project.pk).update(settings=project.settings)
    api.sent(raw(WORK[1:] + MORE), **part)
    assert len(texts()) == len(WORK + MORE)
