"""Where alarms are posted is read by owners only."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from common.caller import Role
from projects.models import Membership, Project
from projects.options import HIDDEN

pytestmark = pytest.mark.django_db
API = "/api/v1"
WEBHOOK, EMAIL = "https://hooks.example.com/T0/S3cret", "ops@acme.example"
OTHERS = [Role.VIEWER, Role.WRITER, Role.CURATOR]


@pytest.fixture
def alarmed(project):
    review = {"webhook_url": WEBHOOK, "email": EMAIL, "alarm_hours": 24}
    Project.objects.filter(pk=project.pk).update(settings={"review": review})
    return Project.objects.get(pk=project.pk)


def read_all(api, project):
    paths = ("projects", f"projects/{project.pk}", f"projects/{project.pk}/settings")
    return [api.get(f"{API}/{path}") for path in paths]


@pytest.mark.parametrize(
    "fields",
    [
        *({"role": role} for role in OTHERS),
        {"role": Role.OWNER, "user_id": "u1"},
        {"role": Role.OWNER, "agent_id": "a"},
    ],
)
def test_others_read_that_one_is_set(client_of, alarmed, fields):
    *_, settings = answers = read_all(client_of(alarmed, **fields), alarmed)

    review = settings.json()["review"]
    assert (review["webhook_url"], review["email"]) == (HIDDEN, HIDDEN)
    assert review["alarm_hours"] == 24
    for answer in answers:
        assert answer.status_code == 200
        assert "hooks.example" not in answer.text and EMAIL not in answer.text


def test_an_address_that_is_not_set_is_empty_for_everybody(client_of, project):
    *_, settings = read_all(client_of(project, role=Role.VIEWER), project)

    assert settings.json()["review"]["webhook_url"] == ""


def test_owners_read_them(alice_api, alarmed):
    for answer in read_all(alice_api, alarmed):
        assert WEBHOOK in answer.text and EMAIL in answer.text


def test_an_owner_of_another_project_reads_only_its_own(
    client_of, alarmed, other_project
):
    both = client_of(alarmed, role=Role.VIEWER)
    person = User.objects.create_user("bob")
    Membership.objects.create(project=other_project, account=person, role=Role.OWNER)
    Membership.objects.create(project=alarmed, account=person, role=Role.VIEWER)
    browser = Client()
    browser.force_login(person)

    for client in (both, browser):
        assert "hooks.example" not in client.get(f"{API}/projects").text


@pytest.mark.parametrize("role", Role)
def test_the_page_of_the_project_shows_them_to_owners(alarmed, role):
    person = User.objects.create_user("bob", is_staff=True)
    Membership.objects.create(project=alarmed, account=person, role=role)
    browser = Client()
    browser.force_login(person)

    page = browser.get(reverse("admin:projects_project_change", args=[alarmed.pk]))

    assert page.status_code == 200
    assert (EMAIL in page.text) is (role == Role.OWNER)
    assert ("hooks.example" in page.text) is (role == Role.OWNER)


def test_the_text_that_stands_for_one_is_no_address(alice_api, alarmed):
    path = f"{API}/projects/{alarmed.pk}/settings"

    answer = alice_api.patch(path, {"review": {"webhook_url": HIDDEN}})

    assert answer.status_code == 400
