"""Who may delete the memories of a session."""

from __future__ import annotations

import pytest

from common.caller import Role
from memories.models import Memory
from memories.scopes import Scope

OWN = {"kind": "session", "session_id": "s1"}


@pytest.fixture
def delete_scope(client_of, project):
    def delete(scope, **binding):
        client = client_of(project, role=Role.WRITER, **binding)
        body = {"project_id": str(project.pk), "scope": scope}
        return client.post("/api/v1/memories/delete-by-scope", body)

    return delete


def test_a_bound_writer_deletes_a_session_of_its_user(stored, delete_scope):
    stored("Said in the session.", scope=Scope("session", "s1", user="ada"))
    (kept,) = stored("Said in another.", scope=Scope("session", "s1", user="ben"))

    answer = delete_scope(OWN, user_id="ada")

    assert (answer.status_code, answer.json()) == (200, {"deleted": 1})
    assert Memory.objects.get(deleted_at=None) == kept


@pytest.mark.parametrize(
    "scope", [{"kind": "workspace"}, {"kind": "user"}, {"kind": "org"}]
)
def test_a_bound_writer_deletes_no_other_scope(delete_scope, scope):
    assert delete_scope(scope, user_id="ada").status_code == 403


@pytest.mark.parametrize("scope", [OWN, {**OWN, "user_id": "ada"}])
def test_an_unbound_writer_deletes_no_session(delete_scope, scope):
    assert delete_scope(scope).status_code == 403


def test_a_bound_viewer_deletes_no_session(client_of, project):
    client = client_of(project, role=Role.VIEWER, user_id="ada")
    body = {"project_id": str(project.pk), "scope": OWN}

    assert client.post("/api/v1/memories/delete-by-scope", body).status_code == 403
