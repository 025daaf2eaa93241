"""A key bound to a user or an agent administers nothing, whatever its role."""

from __future__ import annotations

import pytest

from access.models import ApiKey
from common.caller import Role
from context.models import DigestConfig
from projects.models import Membership, Project
from tests.isolation.route_table import KEY, PROJECT, TABLE, V1, send
from tests.isolation.world import undone

pytestmark = pytest.mark.django_db
REFUSED = {
    f"POST {V1}/projects",
    f"PATCH {PROJECT}",
    f"DELETE {PROJECT}",
    f"POST {PROJECT}/restore",
    f"PATCH {PROJECT}/settings",
    f"POST {PROJECT}/members",
    f"DELETE {PROJECT}/members",
    f"PUT {V1}/context/digest-config",
    f"POST {V1}/keys",
}


@pytest.fixture(
    params=[{"user_id": "u1"}, {"agent_id": "a1"}], ids=lambda b: next(iter(b))
)
def bound(request, client_of, alices):
    """An owner's key of every project, and so of Alice's, with a binding."""
    return client_of(role=Role.OWNER, **request.param)


def administration():
    """Return what only an administrator changes: {model: rows}."""
    projects = ("pk", "name", "description", "settings", "delete_after", "version")
    unbound = ApiKey.objects.filter(user_id="", agent_id="")
    return {
        "projects": list(Project.objects.order_by("pk").values_list(*projects)),
        "members": list(Membership.objects.order_by("pk").values_list()),
        "digests": list(DigestConfig.objects.order_by("pk").values_list()),
        "keys": list(unbound.order_by("pk").values_list("pk", "role", "revoked_at")),
    }


def test_no_writing_route_administers_for_a_bound_key(bound, alices):
    before, wrong = administration(), []
    for route in TABLE:
        if route.method == "GET":
            continue
        with undone():
            answer = send(bound, route, alices)
            if administration() != before:
                wrong.append(f"{route.name} changes: {answer.status_code}")
            if route.name in REFUSED and answer.status_code != 403:
                wrong.append(f"{route.name}: {answer.status_code} {answer.content!r}")

    assert not wrong, "\n".join(wrong)


def test_the_same_key_without_a_binding_does_all_of_it(client_of, alices):
    root = client_of(role=Role.OWNER)
    for route in TABLE:
        if route.name in REFUSED:
            with undone():
                assert send(root, route, alices).status_code < 300, route.name


def test_the_refusal_names_the_binding_and_the_remedy(client_of, project):
    settings = f"/api/v1/projects/{project.pk}/settings"
    bound = client_of(project, role=Role.OWNER, user_id="u1")

    answer = bound.patch(settings, {"quotas": {"per_user": 1_000_000}})

    assert answer.status_code == 403
    assert "bound to a user cannot change a project" in answer.json()["detail"]
    assert "without a binding" in answer.json()["detail"]


def test_a_bound_key_still_rotates_and_revokes_itself(bound):
    rotated = bound.post(f"/api/v1/keys/{bound.key.pk}/rotate", {})

    assert rotated.status_code == 201
    assert (
        bound.delete(f"/{KEY}".replace("<uuid:key_id>", str(bound.key.pk))).status_code
        == 204
    )
