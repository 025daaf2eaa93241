"""What `am` sends of a repository's commits: subject, body, date and names of files."""

from __future__ import annotations

import io
import json
import subprocess
from functools import partial

import pytest
from agent_memory import command_line, commits, exchange, hook, hook_log, output
from typer.testing import CliRunner

from client.tests.conftest import git


@pytest.fixture
def commit(repository):
    def commit(name, message):
        (repository / name).write_text(f"{message}\n")
        git(repository, "add", name)
        git(repository, "commit", "-q", "-m", message)

    return commit


@pytest.fixture
def sent(server):
    """The commits of each request, once the server answers that all are new."""
    sent = []

    def answer(method, path, headers, body):
        sent.append(json.loads(body)["commits"])
        return 201, {}, {"stored": len(sent[-1]), "notes": []}

    server.answer = answer
    return sent


def subjects(sent):
    return [[each["subject"] for each in batch] for batch in sent]


def test_new_commits_are_sent_once_the_oldest_first(
    connection, repository, commit, sent
):
    commit("retry.py", "Cap the backoff\n\nThe gateway ends connections at 32 s.")
    commit("read me.txt", "Name the limit")

    assert commits.send_new(connection, repository) >= 2
    assert commits.send_new(connection, repository) == 0
    commit("third.py", "Third")
    assert commits.send_new(connection, repository) == 1

    assert subjects(sent)[0][-2:] == ["Cap the backoff", "Name the limit"]
    assert subjects(sent)[1] == ["Third"]
    first = sent[0][-2]
    assert first["body"] == "The gateway ends connections at 32 s."
    assert first["files"] == ["retry.py"]
    assert set(first) == {"id", "date", "subject", "body", "files"}
    assert sent[0][-1]["files"] == ["read me.txt"]


def test_a_backfill_sends_all_again(connection, repository, commit, sent):
    commit("retry.py", "Cap the backoff")
    commits.send_new(connection, repository)

    assert commits.send_new(connection, repository, is_whole=True)
    assert subjects(sent)[0] == subjects(sent)[1]


def test_a_branch_that_was_merged_or_left_is_not_sent_again(
    connection, repository, commit, sent
):
    commits.send_new(connection, repository)
    git(repository, "switch", "-qc", "side")
    commit("side.py", "On the side")
    git(repository, "switch", "-q", "main")
    commit("main.py", "On main")
    git(repository, "merge", "-q", "--no-ff", "-m", "Merge", "side")

    assert commits.send_new(connection, repository) == 2
    git(repository, "switch", "-q", "side")
    assert commits.send_new(connection, repository) == 0
    git(repository, "switch", "-q", "main")
    assert commits.send_new(connection, repository) == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[",
        "null",
        "7",
        "[1]",
        '{"heads": 7}',
        '{"heads": [7, "--output=x", null]}',
        json.dumps({"heads": ["0" * 40]}),
        "[" * 100_000,
        "\udcff",
    ],
)
def test_without_a_head_that_git_knows_the_newest_are_sent(
    connection, repository, commit, sent, monkeypatch, text
):
    monkeypatch.setattr(commits, "FIRST", 1)
    state = connection.state_folder / commits.STATE_FILE
    state.parent.mkdir(parents=True)
    state.write_bytes(text.encode("utf-8", "surrogateescape"))
    commit("second.py", "Second")

    assert commits.send_new(connection, repository) == 1
    assert subjects(sent) == [["Second"]]
    assert commits.send_new(connection, repository) == 0


def test_what_the_server_did_not_store_is_sent_again(
    connection, repository, commit, server
):
    server.answer = lambda *_: (503, {}, {"code": "busy", "detail": "Wait."})
    with pytest.raises(exchange.ExchangeError):
        commits.send_new(connection, repository)
    server.answer = lambda *_: (201, {}, {"stored": 1, "notes": []})

    assert commits.send_new(connection, repository) == 1


def test_odd_commits_do_not_stop_the_others(connection, repository, commit, sent):
    commit("\x01.py", "Odd \x01 subject\n\nA \x01 body \x1f with \x02 marks")
    (repository / "\n").write_text("x")
    (repository / "a\nb.py").write_text("x")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "--allow-empty-message", "-m", "")
    raw = b"tree %s\nauthor A <a@b> 999999999999 +0000\ncommitter A <a@b> 1 +0000\n\nNo date\n"
    store_commit(repository, raw)
    commit("last.py", "Last")

    commits.send_new(connection, repository)

    assert subjects(sent) == [["First", "Odd \x01 subject", "Last"]]
    odd = sent[0][1]
    assert odd["body"] == "A \x01 body \x1f with \x02 marks"
    assert odd["files"] == ["\x01.py"]


def store_commit(repository, raw):
    """Make a commit that `git commit` would not make the head."""
    run = partial(subprocess.run, check=True, capture_output=True, cwd=repository)
    tree = run(["git", "mktree"], input=b"").stdout.strip()
    parent = run(["git", "rev-parse", "HEAD"]).stdout.strip()
    text = raw.replace(b"%s", tree + b"\nparent " + parent)
    command = ["git", "hash-object", "-t", "commit", "-w", "--stdin", "--literally"]
    made = run(command, input=text).stdout.strip()
    run(["git", "update-ref", "HEAD", made])


def test_names_that_are_blank_or_too_long_are_left_out(
    connection, repository, commit, sent
):
    names = [" ", "\n", "a/" * 600 + "b.py", "caf\u00e9.py"]
    for name in names:
        file = repository / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "Odd names")

    commits.send_new(connection, repository)

    assert sent[0][-1]["files"] == ["caf\u00e9.py"]


class TestGitFails:
    """What git printed is said, by the hook's log and by `am backfill --commits`."""

    @pytest.fixture(params=["1234", "0" * 39 + "1"])
    def broken(self, repository, request):
        (repository / ".git/refs/heads/main").write_text(request.param)
        return repository

    def test_it_says_what_git_printed(self, connection, broken, sent):
        with pytest.raises(commits.GitFailed, match="fatal: bad object"):
            commits.send_new(connection, broken)

    def test_the_log_of_hooks_has_it(self, connection, broken, sent, monkeypatch):
        monkeypatch.setattr(hook.os, "_exit", lambda _: None)
        event = json.dumps({"cwd": str(broken)}).encode()
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(event)))

        hook.main(["commits", "--harness", "codex", "--detached"])

        [row] = hook_log.read_newest(5)
        assert row["event"] == "commits"
        assert "fatal: bad object" in row["error"]

    def test_a_backfill_fails_with_it(self, connection, broken):
        command = ["backfill", "--commits", "--folder", str(broken)]

        done = CliRunner().invoke(command_line.app, command)

        assert done.exit_code == output.FAILED
        assert "fatal: bad object" in done.output

    def test_a_backfill_fails_with_the_words_of_the_server(
        self, connection, repository, server
    ):
        server.answer = lambda method, *_: (
            (403, {}, {"code": "forbidden", "detail": "Not you."})
            if method == "POST"
            else (200, {}, {})
        )
        command = ["backfill", "--commits", "--folder", str(repository)]

        done = CliRunner().invoke(command_line.app, command)

        assert done.exit_code == output.FAILED
        assert "403 forbidden Not you." in done.output

    def test_a_repository_without_a_commit_has_nothing_to_send(
        self, connection, tmp_path, sent
    ):
        git(tmp_path, "init", "-q", "empty")

        assert commits.send_new(connection, tmp_path / "empty") == 0


def test_a_part_of_a_monorepo_sends_its_own_commits(
    connection, repository, commit, sent
):
    (repository / "app").mkdir()
    commit("app/a.py", "In the part")
    commit("b.py", "Beside it")

    commits.send_new(connection._replace(path="app"), repository)

    assert subjects(sent) == [["In the part"]]


def test_a_folder_without_a_repository_sends_nothing(connection, tmp_path, sent):
    assert commits.send_new(connection, tmp_path) == 0
    assert sent == []


def test_a_session_that_starts_leaves_them_to_another_process(
    connection, repository, commit, server, monkeypatch
):
    left = []
    monkeypatch.setattr(hook, "detach", lambda event, text: left.append(event.name))
    server.answer = lambda *_: (200, {}, {})
    event = hook.Event("session-start", "codex", {"cwd": str(repository)})

    hook.run("session-start", "codex", io.BytesIO(json.dumps(event.payload).encode()))
    assert left == [hook.COMMITS]


def test_a_start_is_answered_also_if_no_process_can_be_started(
    connection, repository, server, monkeypatch
):
    def fail(event, text):
        raise OSError("no more processes")

    monkeypatch.setattr(hook, "detach", fail)
    server.answer = lambda *_: (200, {}, {"given": "rules"})
    event = json.dumps({"cwd": str(repository)}).encode()

    answer = hook.run("session-start", "codex", io.BytesIO(event))

    assert json.loads(answer) == {"given": "rules"}
    [row] = hook_log.read_newest(5)
    assert (row["event"], row["error"]) == ("commits", "no more processes")


def test_the_command_of_a_hook_posts_no_event(
    connection, repository, server, monkeypatch
):
    left = []
    monkeypatch.setattr(hook, "detach", lambda event, text: left.append(event.name))
    event = json.dumps({"cwd": str(repository)}).encode()

    assert hook.run("commits", "codex", io.BytesIO(event)) == "{}"
    assert (left, server.requests) == (["commits"], [])
