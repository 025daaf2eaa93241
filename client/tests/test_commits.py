"""What `am` sends of a repository's commits: subject, body, date and names of files."""

from __future__ import annotations

import io
import json

import pytest
from agent_memory import commits, hook

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


def test_a_branch_that_was_rebased_is_sent_from_its_newest(
    connection, repository, commit, sent
):
    commit("retry.py", "Cap the backoff")
    commits.send_new(connection, repository)
    state = connection.state_folder / commits.STATE_FILE
    state.write_text(json.dumps({"last": "0" * 40}))
    commit("third.py", "Third")

    assert commits.send_new(connection, repository)
    assert subjects(sent)[1][-1] == "Third"


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
