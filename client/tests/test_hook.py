"""`am hook`: what it sends and prints, and that it is never in an agent's way."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import agent_memory
import pytest
from agent_memory import connections, exchange, hook, hook_log, scriptless
from agent_memory.connections import Connection, Connections
from agent_memory.harnesses import Program
from agent_memory.repository import find_repository
from agent_memory.version import VERSION

from client.tests.conftest import git

MAIN = Path(agent_memory.__file__).with_name("__main__.py")
CONTEXT = {
    "hookSpecificOutput": {
        "hookEventName": "SessionStart",
        "additionalContext": "Rules",
    }
}
CODEX_START = {
    "session_id": "01a218af",
    "hook_event_name": "SessionStart",
    "model": "scripted",
    "permission_mode": "bypassPermissions",
    "source": "startup",
}


def run(name, payload, harness="codex", **options):
    stdin = io.BytesIO(json.dumps(payload).encode())
    return json.loads(hook.run(name, harness, stdin, **options))


def start(name, payload, harness="codex", main=MAIN):
    """Run the command as a harness does, in a process of its own."""
    command = Program(sys.executable, str(main)).hook_words(name, harness)
    text = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    began = time.monotonic()
    done = subprocess.run(
        command, input=text, capture_output=True, timeout=20, check=False
    )
    return done, time.monotonic() - began


@pytest.fixture
def codex_start(repository):
    return {**CODEX_START, "cwd": str(repository)}


class TestAnswers:
    """What a connected project's hook sends, and what the harness reads."""

    def test_the_event_goes_out_and_the_answer_comes_back(
        self, connection, server, codex_start
    ):
        server.answer = lambda *_: (200, {}, CONTEXT)

        assert run("session-start", codex_start) == CONTEXT

        method, path, headers, body = server.requests[0]
        sent = json.loads(body)
        assert (method, path) == ("POST", "/hooks/codex?project_id=p1")
        assert headers["Authorization"] == "Bearer am_writer"
        assert sent["am"] == {
            "event": "session-start",
            "client": VERSION,
            "branch": "main",
            "files": {},
        }
        assert sent["source"] == "startup"

    def test_the_files_of_the_last_start_are_hashed(
        self, connection, server, codex_start, repository
    ):
        names = ["prices.py", "gone.py", "../secret", "large.bin", "folder"]
        given = json.dumps(names)
        server.answer = lambda *_: (200, {"X-Given-Files": given}, {})
        (repository.parent / "secret").write_text("x")
        (repository / "large.bin").write_bytes(bytes(hook.MAX_FILE_BYTES + 1))
        (repository / "folder").mkdir()

        run("session-start", codex_start)
        run("prompt", {**codex_start, "prompt": "hello"})

        expected = hashlib.sha256(b"CENTS = 100\n").hexdigest()
        files = json.loads(server.requests[1][3])["am"]["files"]
        assert files == {"prices.py": expected, "gone.py": None}

    def test_only_what_git_tracks_is_hashed_and_no_file_of_secrets(
        self, connection, server, codex_start, repository
    ):
        names = [
            "prices.py",
            "notes.txt",
            ".env",
            "deploy/.env.local",
            "id_rsa",
            "link",
        ]
        server.answer = lambda *_: (200, {"X-Given-Files": json.dumps(names)}, {})
        (repository / "deploy").mkdir()
        for name in (".env", "deploy/.env.local", "id_rsa"):
            (repository / name).write_text("PIN=1234\n")
        (repository / "link").symlink_to("notes.txt")
        git(repository, "add", "-f", ".")
        (repository / "notes.txt").write_text("mine")

        run("session-start", codex_start)
        run("prompt", {**codex_start, "prompt": "hello"})

        files = json.loads(server.requests[1][3])["am"]["files"]
        assert list(files) == ["prices.py"]

    def test_each_branch_has_its_own_files(
        self, connection, server, codex_start, repository
    ):
        server.answer = lambda *_: (200, {"X-Given-Files": '["prices.py"]'}, {})
        git(repository, "switch", "-qc", "euro")
        (repository / "prices.py").write_text("CENTS = 50\n")

        for _ in range(2):
            run("session-start", codex_start)

        place = json.loads(server.requests[1][3])["am"]
        assert place["branch"] == "euro"
        assert place["files"] == {
            "prices.py": hashlib.sha256(b"CENTS = 50\n").hexdigest()
        }

    def test_a_work_tree_is_the_same_project(
        self, connection, server, codex_start, repository, tmp_path
    ):
        git(repository, "worktree", "add", "-qb", "side", str(tmp_path / "side"))

        run("session-start", {**codex_start, "cwd": str(tmp_path / "side")})

        assert json.loads(server.requests[0][3])["am"]["branch"] == "side"

    def test_cursor_names_its_folder_otherwise(self, connection, server, repository):
        run("prompt", {"workspace_roots": [str(repository)]}, harness="cursor")

        assert server.requests[0][1] == "/hooks/cursor?project_id=p1"

    def test_a_folder_that_is_not_connected_says_nothing(
        self, connection, server, tmp_path
    ):
        assert run("session-start", {**CODEX_START, "cwd": str(tmp_path)}) == {}
        assert server.requests == []

    def test_copilot_does_not_run_the_hooks_of_claude_code(
        self, connection, server, repository
    ):
        event = {"sessionId": "s", "cwd": str(repository)}

        assert run("session-start", event, harness="claude-code") == {}
        assert server.requests == []

    def test_a_key_that_only_reads_sends_no_transcript(
        self, connection, server, codex_start
    ):
        connections.write(Connections((connection._replace(is_read_only=True),)))

        assert run("stop", codex_start) == {}
        assert server.requests == []


class TestNeverInTheWay:
    """A process for each kind of fault: exit 0, within the limit, and the log says why."""

    @pytest.fixture
    def slow(self, server):
        release = threading.Event()
        server.answer = lambda *_: (release.wait(10) and (200, {}, {})) or (200, {}, {})
        yield server
        release.set()

    def check(self, codex_start, words):
        done, seconds = start("session-start", codex_start)

        assert (done.returncode, done.stdout) == (0, b"{}"), done.stderr
        assert (
            seconds < hook.RECALL_LIMIT + 4
        )  # the rest is Python's start on a busy machine
        rows = hook_log.read_newest(5)
        [row] = [row for row in rows if row["event"] != hook.COMMITS]
        assert words in row["error"]
        assert (row["harness"], row["event"]) == ("codex", "session-start")

    def test_a_server_that_is_stopped(self, connection, server, codex_start):
        server.close()

        self.check(codex_start, "does not answer")

    def test_a_server_that_takes_ten_seconds(self, connection, slow, codex_start):
        self.check(codex_start, "")

    def test_a_server_that_fails(self, connection, server, codex_start):
        server.answer = lambda *_: (
            500,
            {},
            {"code": "internal", "detail": "It failed."},
        )

        self.check(codex_start, "500 internal It failed.")

    def test_a_key_that_is_revoked(self, connection, server, codex_start):
        server.answer = lambda *_: (
            401,
            {},
            {"code": "unauthenticated", "detail": "No."},
        )

        self.check(codex_start, "401 unauthenticated")

    def test_a_program_that_is_gone(self, codex_start, tmp_path):
        done, _ = start("prompt", codex_start, main=tmp_path / "gone/__main__.py")

        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")

    def test_a_program_that_cannot_be_imported(self, codex_start, tmp_path):
        main = tmp_path / "agent_memory/__main__.py"
        main.parent.mkdir()
        main.write_text("import nothing_of_this_name")

        done, _ = start("prompt", codex_start, main=main)

        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")

    def test_a_harness_that_keeps_stdin_open(self, connection, server, codex_start):
        server.answer = lambda *_: (200, {}, CONTEXT)
        read_end, write_end = os.pipe()
        text = json.dumps({**codex_start, "model": "{}"}).encode()
        for part in (text[:-20], text[-20:]):
            os.write(write_end, part)

        with os.fdopen(read_end, "rb") as stdin:
            assert json.loads(hook.run("session-start", "codex", stdin)) == CONTEXT
        os.close(write_end)

    def test_an_event_that_is_no_json(self, connection):
        done, _ = start("session-start", b"not json")

        assert (done.returncode, done.stdout) == (0, b"{}")

    @pytest.mark.parametrize(
        ("event", "seconds"),
        [
            ("session-start", 2.5),
            ("prompt", 2.5),
            ("tool-failed", 2.5),
            ("subagent-start", 1.0),
            ("stop", 1.0),
        ],
    )
    def test_an_event_that_recalls_waits_longer_but_less_than_the_harness(
        self, event, seconds
    ):
        assert hook.limit_of(event) == seconds < scriptless.TIMEOUT

    @pytest.mark.parametrize(
        ("name", "arguments"),
        [
            ("BACKGROUND_LIMIT", ["stop", "--detached"]),
            ("RECALL_LIMIT", ["session-start"]),
        ],
    )
    def test_the_log_names_the_limit_that_held(
        self, home, monkeypatch, name, arguments
    ):
        monkeypatch.setattr(hook, name, 0.01)
        monkeypatch.setattr(hook.os, "_exit", lambda _: None)
        monkeypatch.setattr(hook, "run", lambda *_, **__: threading.Event().wait(0.2))

        hook.main([*arguments, "--harness", "codex"])

        assert hook_log.read_newest(1)[0]["error"] == "no answer within 0.01 s"

    def test_the_log_has_no_words_of_the_agent(self, connection, server, codex_start):
        server.close()

        start("prompt", {**codex_start, "prompt": "my secret wish"})

        assert "secret wish" not in hook_log.file().read_text()

    def test_the_log_stays_small(self, home, monkeypatch):
        monkeypatch.setattr(hook_log, "MAX_BYTES", 2000)

        for number in range(100):
            hook_log.add("codex", "prompt", f"fault {number}")

        assert hook_log.file().stat().st_size < 2200
        assert hook_log.read_newest(1)[0]["error"] == "fault 99"

    def test_it_starts_without_the_packages_of_the_rest(self):
        code = (
            "import sys; import agent_memory.hook, agent_memory.mcp, agent_memory.transcript;"
            "print(sorted({'httpx', 'typer', 'rich', 'dataclasses'} & set(sys.modules)))"
        )
        command = [sys.executable, "-S", "-c", code]
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, cwd=MAIN.parent.parent
        )

        assert done.stdout.strip() == "[]"


class FakeServer:
    """The transcript route, as the server answers it."""

    def __init__(self):
        self.content = b""
        self.sent = []

    def __call__(self, method, path, headers, body):
        import gzip
        from urllib.parse import parse_qs, urlsplit

        if path.startswith("/hooks/"):
            return 200, {}, {}
        query = {
            name: values[0] for name, values in parse_qs(urlsplit(path).query).items()
        }
        cursor, prefix = int(query["cursor"]), query.get("prefix", "")
        known = hashlib.sha256(self.content[:cursor]).hexdigest() if cursor else ""
        if cursor and (cursor != len(self.content) or prefix != known):
            return 409, {}, {"code": "transcript_cursor", "cursor": len(self.content)}
        part = gzip.decompress(body)
        self.sent.append((query, part))
        self.content = self.content[:cursor] + part
        # The server does not keep the file: only the client knows all bytes.
        digest = query["end_prefix"] if cursor else hashlib.sha256(part).hexdigest()
        assert digest == hashlib.sha256(self.content).hexdigest()
        lines = part.count(b"\n")
        return (
            200,
            {},
            {
                "cursor": len(self.content),
                "prefix": digest,
                "messages": lines,
                "tasks": 0,
            },
        )


class TestTranscripts:
    """The new part is sent once, by whole lines, with a cursor and a prefix."""

    @pytest.fixture
    def fake(self, server):
        server.answer = FakeServer()
        return server.answer

    @pytest.fixture
    def file(self, tmp_path):
        path = tmp_path / "rollout.jsonl"
        path.write_bytes(b'{"a": 1}\n{"b": 2}\n{"half":')
        return path

    def stop(self, codex_start, file):
        event = {**codex_start, "transcript_path": str(file)}
        run("stop", event, is_detached=True)

    def test_whole_lines_are_sent_and_then_only_the_new_ones(
        self, connection, fake, codex_start, file
    ):
        self.stop(codex_start, file)
        file.write_bytes(file.read_bytes() + b" 3}\n")
        self.stop(codex_start, file)
        self.stop(codex_start, file)

        assert [part for _, part in fake.sent] == [
            b'{"a": 1}\n{"b": 2}\n',
            b'{"half": 3}\n',
        ]
        assert fake.sent[0][0]["format"] == "codex"

    def test_a_transcript_in_a_form_that_the_server_does_not_read_stays(
        self, connection, fake, file, codex_start, server
    ):
        event = {**codex_start, "transcript_path": str(file)}

        run("stop", event, harness="cursor", is_detached=True)

        assert not [path for _, path, *_ in server.requests if "/transcript" in path]

    def test_a_transcript_that_was_written_anew_starts_over(
        self, connection, fake, codex_start, file
    ):
        self.stop(codex_start, file)
        file.write_bytes(b'{"other": 1}\n')
        self.stop(codex_start, file)

        assert fake.content == b'{"other": 1}\n'

    def test_each_project_gets_a_transcript_from_its_beginning(
        self, connection, fake, codex_start, file
    ):
        self.stop(codex_start, file)
        connections.write(Connections((connection._replace(project_id="p2"),)))
        self.stop(codex_start, file)

        assert [(query["project_id"], query["cursor"]) for query, _ in fake.sent] == [
            ("p1", "0"),
            ("p2", "0"),
        ]

    def test_a_server_that_forgot_gets_all_of_it(
        self, connection, fake, codex_start, file
    ):
        self.stop(codex_start, file)
        fake.content = b""
        file.write_bytes(file.read_bytes() + b" 3}\n")
        self.stop(codex_start, file)

        assert fake.content == file.read_bytes()

    def test_a_document_that_is_not_whole_yet_is_sent_once(
        self, connection, server, codex_start, tmp_path
    ):
        file = tmp_path / "session.json"
        file.write_text('{"messages": [')
        data = {"cursor": 0, "prefix": "", "messages": 0, "tasks": 0}
        server.answer = lambda *_: (200, {}, data)

        self.stop(codex_start, file)

        assert [path.partition("?")[0] for _, path, _, _ in server.requests] == [
            "/api/v1/sessions/01a218af/transcript",
            "/hooks/codex",
        ]

    def test_a_document_is_sent_until_all_its_messages_are_stored(
        self, connection, server, codex_start, tmp_path
    ):
        file = tmp_path / "session.json"
        file.write_text('{"messages": []}')
        left = [5_000, 400, 0]
        data = {"cursor": 0, "prefix": "", "tasks": 0}
        server.answer = lambda _, path, *__: (
            200,
            {},
            {**data, "messages": left.pop(0)} if "transcript" in path else {},
        )

        self.stop(codex_start, file)

        assert left == []

    def test_a_full_session_is_not_sent_again(
        self, connection, server, codex_start, file
    ):
        server.answer = lambda *_: (409, {}, {"code": "too_many_messages"})

        with pytest.raises(exchange.ExchangeError):
            self.stop(codex_start, file)

        paths = [path for _, path, _, _ in server.requests]
        assert len([path for path in paths if "/transcript" in path]) == 1

    def test_a_long_transcript_goes_in_parts(
        self, connection, fake, codex_start, tmp_path, monkeypatch
    ):
        from agent_memory import transcript

        monkeypatch.setattr(transcript, "PART_BYTES", 10)
        file = tmp_path / "long.jsonl"
        file.write_bytes(b'{"a":1}\n' * 3 + b'{"long": "longer than a part"}\n')

        self.stop(codex_start, file)

        assert fake.content == file.read_bytes()
        assert len(fake.sent) == 4
        assert [query.get("final") for query, _ in fake.sent] == [None] * 3 + ["true"]

    def test_the_end_of_a_session_is_handled_in_the_background(
        self, connection, server, fake, codex_start, file
    ):
        done, _ = start("session-end", {**codex_start, "transcript_path": str(file)})

        assert (done.returncode, done.stdout) == (0, b"{}")
        deadline = time.monotonic() + 20
        while len(server.requests) < 2 and time.monotonic() < deadline:
            threading.Event().wait(0.02)
        assert [path.partition("?")[0] for _, path, _, _ in server.requests] == [
            "/api/v1/sessions/01a218af/transcript",
            "/hooks/codex",
        ]

    def test_the_end_is_told_also_if_the_transcript_is_refused(
        self, connection, server, codex_start, file
    ):
        server.answer = lambda method, path, *_: (
            413 if "transcript" in path else 200,
            {},
            {},
        )

        with pytest.raises(exchange.ExchangeError, match="413"):
            self.stop(codex_start, file)

        assert server.requests[-1][1].startswith("/hooks/codex")


class TestConnections:
    """Which connection is that of a folder."""

    def test_git_names_the_same_common_folder(self, repository, tmp_path):
        git(repository, "worktree", "add", "-qb", "side", str(tmp_path / "side"))
        command = ["git", "-C", tmp_path / "side", "rev-parse", "--git-common-dir"]
        said = subprocess.run(
            command, check=True, capture_output=True, text=True
        ).stdout

        found = find_repository(tmp_path / "side")

        assert found.common_folder == Path(said.strip())
        assert (found.name, found.branch) == ("shop", "side")

    def test_a_part_of_a_monorepo_is_a_project_of_its_own(self, connection, repository):
        part = connection._replace(path="packages/billing", project="billing")
        known = Connections((connection, part))
        inner = repository / "packages/billing/src"
        inner.mkdir(parents=True)

        assert connections.find(inner, known) == part
        assert connections.find(repository / "packages", known) == connection

    def test_a_folder_beside_it_is_not_of_it(self, connection, repository, tmp_path):
        (tmp_path / "shop-old").mkdir()

        assert (
            connections.find(tmp_path / "shop-old", Connections((connection,))) is None
        )

    def test_a_repository_inside_a_plain_folder_belongs_to_it(self, home, repository):
        entry = Connection(str(repository.parent), "", "http://s", "all", "p2", "k")

        assert connections.find(repository, Connections((entry,))) == entry
