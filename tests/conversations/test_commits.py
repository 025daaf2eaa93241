"""The commits of a repository: who sends them, which are kept, and what is kept of them."""

from __future__ import annotations

import pytest

from common.caller import Role
from conversations.messages.commits import remove_trailers
from conversations.models import Message

pytestmark = pytest.mark.django_db

COMMIT = {
    "id": "ab" * 20,
    "subject": "Cap the backoff",
    "body": "The gateway ends connections at 32 s.",
    "date": "2026-11-12T09:00:00+01:00",
    "files": ["http/retry.py"],
}
OTHER = COMMIT | {"id": "cd" * 20, "subject": "Retry 408"}


@pytest.fixture
def send(alice_api, project):
    def send(*commits, api=alice_api):
        body = {"project_id": str(project.pk), "commits": list(commits)}
        return api.post("/api/v1/commits", body, format="json")

    return send


@pytest.fixture
def post(alice_api, project):
    def post(path, **body):
        body = {"project_id": str(project.pk), **body}
        return alice_api.post(f"/api/v1/sessions/{path}", body, format="json")

    return post


def subjects():
    rows = Message.objects.visible().order_by("seq")
    return [text.partition("\n")[0] for text in rows.values_list("text", flat=True)]


def test_the_key_of_an_agent_sends_commits_and_that_of_a_user_cannot(
    send, client_of, project
):
    of_user = client_of(project, role=Role.WRITER, user_id="42")
    of_agent = client_of(project, role=Role.WRITER, agent_id="ana@laptop")

    refused = send(COMMIT, api=of_user)

    assert refused.status_code == 403
    assert "with a key of the project" in refused.json()["detail"]
    assert send(COMMIT, api=of_agent).json()["stored"] == 1
    assert Message.objects.get().metadata["sent_by"] == "ana@laptop"


def test_only_commits_are_appended_to_their_session(send, post, alice_api, project):
    send(COMMIT)
    said = [{"role": "user", "content": "Retry every 4xx."}]

    refused = post("commits/messages", messages=said)

    assert (refused.status_code, refused.json()["code"]) == (409, "session_identity")
    assert "send commits to /commits" in refused.json()["detail"]
    assert subjects() == ["Cap the backoff"]


def test_the_session_of_commits_is_nobodys_to_claim(send, post):
    send(COMMIT)

    assert post("commits/claim", user_id="42").status_code == 409


def test_a_fork_of_the_session_of_commits_is_one_for_messages(send, post):
    send(COMMIT)

    forked = post("commits/fork", key="talk", seq=1)

    assert forked.status_code in (200, 201), forked.json()
    assert forked.json()["channel"] == ""
    said = [{"role": "user", "content": "And then?"}]
    assert post("talk/messages", messages=said).status_code == 200


def test_a_commit_that_was_hidden_stays_hidden(send, alice_api, project):
    send(COMMIT)
    query = f"project_id={project.pk}&from_seq=1"
    hidden = alice_api.delete(f"/api/v1/sessions/commits/messages?{query}")
    assert hidden.json() == {"hidden": 1}

    assert send(COMMIT, OTHER).json()["stored"] == 1
    assert subjects() == ["Retry 408"]


def test_an_odd_commit_is_left_out_and_the_others_are_stored(send, alice_api, project):
    url = f"/api/v1/projects/{project.pk}"
    alice_api.patch(url, {"settings": {"secrets": "reject"}}, format="json")
    odd = {
        "ee" * 20: {"date": "0000-00-00T00:00:00+00:00"},
        "no hash": {},
        "a1" * 20: {"files": ["a.py", " "]},
        "a2" * 20: {"files": ["x" * 1_001]},
        "a3" * 20: {"subject": " "},
        "a4" * 20: {"author": "eve@example.org"},
        "a5" * 20: {"body": "The key is ghp_" + "a1B2c3D4e5" * 4},
    }

    answer = send(COMMIT, *(OTHER | {"id": k, **change} for k, change in odd.items()))

    assert (answer.status_code, answer.json()["stored"]) == (201, 1), answer.json()
    notes = answer.json()["notes"]
    for name in odd:
        [note] = [each for each in notes if f"Left out {name}: " in each]
        assert len(note) > len(f"Left out {name}: "), note
    assert len(notes) == len(odd)


@pytest.mark.parametrize("commits", ["text", [1], [["a"]], {"id": "a"}, None])
def test_what_is_no_list_of_objects_is_refused(alice_api, project, commits):
    body = {"project_id": str(project.pk), "commits": commits}

    answer = alice_api.post("/api/v1/commits", body, format="json")

    assert answer.status_code == 400


SIGNED = "Signed-off-by: Eve <eve@example.org>"


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ("", ""),
        ("Decision: retry any 5xx", "Decision: retry any 5xx"),
        ("Why: it locks\nFix: stop", "Why: it locks\nFix: stop"),
        (SIGNED, ""),
        (f"It locks.\r\n\r\n{SIGNED}\r\n", "It locks."),
        (f"It locks.\n \n{SIGNED}\n\nco-authored-by: B <b@example.org>", "It locks."),
        (f"It locks.\n\nWhy: 401s.\n{SIGNED}", "It locks.\n\nWhy: 401s."),
        ("It locks.\n\nCo-authored-by: Eve\n  <eve@example.org>", "It locks."),
        (
            "It locks.\n\nReviewed-on: https://x.example/1\nChange-Id: I1\nCC: a@b.example\n"
            "(cherry picked from commit 12ab)",
            "It locks.",
        ),
        (f"{SIGNED}\n\nIt locks.", f"{SIGNED}\n\nIt locks."),
    ],
)
def test_only_trailers_at_the_end_are_taken_out(body, kept):
    assert remove_trailers(body) == kept
