"""People come with a session: their roles are memberships, their writes need a token."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from rest_framework.test import APIClient

from audit.models import AuditEvent
from common.caller import SHARE, Role
from projects.models import Membership

pytestmark = pytest.mark.django_db
PROJECTS = "/api/v1/projects"


@pytest.fixture
def ann(db):
    return get_user_model().objects.create_user("ann", password="x")


def signed_in(account, **options):
    client = APIClient(**options)
    client.force_login(account)
    return client


def test_a_person_without_a_role_sees_nothing(ann, project):
    assert signed_in(ann).get(PROJECTS).json()["results"] == []


def test_a_membership_is_a_role(ann, project):
    Membership.objects.create(project=project, account=ann, role=Role.OWNER)
    path = f"{PROJECTS}/{project.pk}"

    assert signed_in(ann).patch(path, {"description": "x"}).status_code == 200
    event = AuditEvent.objects.get(verb="project.changed")
    assert (event.actor, event.account_id) == ("user:ann", ann.pk)


def test_a_superuser_owns_everything(project):
    root = get_user_model().objects.create_superuser("root", password="x")

    assert signed_in(root).delete(f"{PROJECTS}/{project.pk}").status_code == 204


def test_the_web_server_learns_who_was_admitted_and_of_nobody_else(ann, bob_api):
    root = get_user_model().objects.create_superuser("root", password="x")
    stranger = APIClient(headers={"Authorization": "Bearer am_x"})
    for client, path, share in (
        (signed_in(ann), PROJECTS, "user:ann"),
        (signed_in(root), "/admin/", "user:root"),
        (bob_api, PROJECTS, f"key:{bob_api.key.line_id}"),
        (stranger, PROJECTS, None),
        (APIClient(), "/admin/", None),
    ):
        assert client.get(path).wsgi_request.META.get(SHARE) == share, share


def test_an_inactive_person_is_refused(ann, project):
    client = signed_in(ann)
    get_user_model().objects.update(is_active=False)

    assert client.get(PROJECTS).status_code == 401


def test_a_write_without_the_token_is_refused(ann):
    client = signed_in(ann, enforce_csrf_checks=True)
    answer = client.post(PROJECTS, {"name": "x"})

    assert (answer.status_code, answer.json()["code"]) == (403, "csrf_failed")
    assert client.get(PROJECTS).status_code == 200


def test_a_write_with_the_token_passes(ann):
    client = signed_in(ann, enforce_csrf_checks=True)
    token = "a" * 32
    client.cookies["csrftoken"] = token
    headers = {"x-csrftoken": token}

    assert client.post(PROJECTS, {"name": "x"}, headers=headers).status_code == 201


def test_a_key_needs_no_token(client_of):
    client = client_of(role=Role.OWNER)
    client.handler.enforce_csrf_checks = True

    assert client.post(PROJECTS, {"name": "x"}).status_code == 201
