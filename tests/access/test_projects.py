from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone
from rest_framework.test import APIClient

from audit.models import AuditEvent
from common.caller import SYSTEM, Role
from projects import lifecycle
from projects.models import Membership, Project

pytestmark = pytest.mark.django_db
PROJECTS = "/api/v1/projects"


@pytest.fixture
def root_api(client_of):
    """A key for every project, as `create_key --role owner` makes it."""
    return client_of(role=Role.OWNER)


@pytest.fixture
def person(db):
    account = get_user_model().objects.create_user("ann", password="x")
    client = APIClient()
    client.force_login(account)
    client.account = account
    return client


class TestCreate:
    def test_it_answers_with_the_project(self, root_api):
        answer = root_api.post(PROJECTS, {"name": "apollo", "description": "moon"})

        assert answer.status_code == 201
        assert answer.json()["name"] == "apollo"
        assert answer.json()["organization"] == "default"
        assert answer.json()["settings"]["dedup"]["threshold"] == 0.95

    def test_it_writes_an_audit_row(self, root_api):
        made = root_api.post(PROJECTS, {"name": "apollo"}).json()

        event = AuditEvent.objects.get(verb="project.created")
        assert event.object_id == made["id"]
        assert event.key_id == root_api.key.pk

    def test_it_makes_a_person_the_owner(self, person):
        made = person.post(PROJECTS, {"name": "apollo"}).json()

        member = Membership.objects.get(project=made["id"])
        assert (member.account, member.role) == (person.account, Role.OWNER)

    def test_it_uses_the_organization_that_is_named(self, root_api, organization):
        body = {"name": "apollo", "organization": "acme"}

        assert root_api.post(PROJECTS, body).json()["organization"] == "acme"
        assert Project.objects.get(name="apollo").organization == organization

    def test_a_name_is_unique(self, root_api):
        root_api.post(PROJECTS, {"name": "apollo"})
        answer = root_api.post(PROJECTS, {"name": "apollo"})

        assert (answer.status_code, answer.json()["code"]) == (409, "project_exists")

    @pytest.mark.parametrize(
        "body",
        [
            {},
            {"name": ""},
            {"name": "x" * 201},
            {"name": ["x"]},
            {"name": "x", "settings": []},
            {"name": "x", "organization": "no slug!"},
            {"name": str(uuid.uuid4())},
        ],
    )
    def test_it_refuses_bad_fields(self, root_api, body):
        answer = root_api.post(PROJECTS, body)

        assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
        assert answer.json()["errors"]

    def test_a_key_of_some_projects_makes_none(self, alice_api):
        answer = alice_api.post(PROJECTS, {"name": "apollo"})

        assert answer.status_code == 403

    def test_a_viewer_of_everything_makes_none(self, client_of):
        answer = client_of(role=Role.VIEWER).post(PROJECTS, {"name": "apollo"})

        assert answer.status_code == 403


class TestRead:
    def test_it_lists_what_the_caller_may_see(self, alice_api, project, other_project):
        listed = alice_api.get(PROJECTS).json()["results"]

        assert [row["id"] for row in listed] == [str(project.pk)]

    def test_somebody_elses_project_is_missing(self, charlie_api, project):
        for path in ("", "/settings", "/members"):
            answer = charlie_api.get(f"{PROJECTS}/{project.pk}{path}")
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found")

    def test_a_list_takes_few_queries(
        self, root_api, organization, django_assert_max_num_queries
    ):
        for name in range(5):
            Project.objects.create(organization=organization, name=f"p{name}")
        root_api.get(PROJECTS)

        with django_assert_max_num_queries(2):
            assert len(root_api.get(PROJECTS).json()["results"]) == 5


class TestChange:
    def test_it_changes_what_is_given(self, alice_api, project):
        answer = alice_api.patch(f"{PROJECTS}/{project.pk}", {"description": "new"})

        assert answer.json()["description"] == "new"
        assert answer.json()["version"] == 2
        assert answer.json()["name"] == project.name

    def test_the_same_again_changes_nothing(self, alice_api, project):
        answer = alice_api.patch(f"{PROJECTS}/{project.pk}", {"name": project.name})

        assert answer.json()["version"] == 1
        assert not AuditEvent.objects.filter(verb="project.changed").exists()

    def test_the_error_of_a_stale_version_has_the_current_one(self, alice_api, project):
        alice_api.patch(f"{PROJECTS}/{project.pk}", {"description": "new"})
        body = {"description": "newer", "version": 1}
        answer = alice_api.patch(f"{PROJECTS}/{project.pk}", body)

        assert (answer.status_code, answer.json()["code"]) == (409, "stale_version")
        assert answer.json()["current_version"] == 2

    def test_it_takes_an_owner(self, bob_api, project):
        answer = bob_api.patch(f"{PROJECTS}/{project.pk}", {"description": "new"})

        assert answer.status_code == 403
        event = AuditEvent.objects.get(verb="access.refused")
        assert event.project_id == project.pk
        assert event.key_id == bob_api.key.pk


class TestSettings:
    def test_they_have_every_default(self, bob_api, project):
        found = bob_api.get(f"{PROJECTS}/{project.pk}/settings").json()

        assert found["policy"] == "assisted"
        assert found["search"] == {
            "language": "english",
            "fusion": "relative",
            "keyword_weight": 0.5,
            "semantic_weight": 0.5,
        }

    def test_a_change_is_merged(self, alice_api, project):
        path = f"{PROJECTS}/{project.pk}/settings"
        alice_api.patch(path, {"dedup": {"threshold": 0.9}})
        found = alice_api.patch(path, {"policy": "manual"}).json()

        assert found["dedup"] == {"enabled": True, "threshold": 0.9}
        assert found["policy"] == "manual"

    def test_null_returns_a_setting_to_its_default(self, alice_api, project):
        path = f"{PROJECTS}/{project.pk}/settings"
        alice_api.patch(path, {"policy": "manual"})

        assert alice_api.patch(path, {"policy": None}).json()["policy"] == "assisted"

    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ({"policy": "wild"}, "settings.policy"),
            ({"dedup": {"threshold": 7}}, "settings.dedup.threshold"),
            ({"colour": "red"}, "settings.colour"),
            ({"categories": []}, "settings.categories"),
            ({"content_min": 2**62}, "settings.content_min"),
            (
                {"search": {"keyword_weight": 0, "semantic_weight": 0}},
                "settings.search",
            ),
        ],
    )
    def test_a_bad_one_is_named_by_its_path(self, alice_api, project, change, field):
        answer = alice_api.patch(f"{PROJECTS}/{project.pk}/settings", change)

        assert answer.status_code == 400
        assert field in answer.json()["errors"]


class TestDelete:
    def test_it_hides_the_project_at_once(self, alice_api, project):
        assert alice_api.delete(f"{PROJECTS}/{project.pk}").status_code == 204
        assert alice_api.get(f"{PROJECTS}/{project.pk}").status_code == 404

    def test_an_owner_restores_it(self, alice_api, project):
        alice_api.delete(f"{PROJECTS}/{project.pk}")
        gone = alice_api.get(f"{PROJECTS}?deleted=true").json()["results"]
        answer = alice_api.post(f"{PROJECTS}/{project.pk}/restore")

        assert [row["id"] for row in gone] == [str(project.pk)]
        assert answer.json()["delete_after"] is None
        assert alice_api.get(f"{PROJECTS}/{project.pk}").status_code == 200

    def test_nobody_else_restores_it(self, alice_api, bob_api, charlie_api, project):
        alice_api.delete(f"{PROJECTS}/{project.pk}")

        for api in (bob_api, charlie_api):
            assert api.post(f"{PROJECTS}/{project.pk}/restore").status_code == 404

    def test_one_past_its_grace_period_is_not_restored(
        self, alice_api, project, time_machine
    ):
        alice_api.delete(f"{PROJECTS}/{project.pk}")
        time_machine.move_to(timezone.now() + timedelta(days=30, seconds=1))

        gone = alice_api.get(f"{PROJECTS}?deleted=true").json()["results"]
        answer = alice_api.post(f"{PROJECTS}/{project.pk}/restore")

        assert gone == []
        assert (answer.status_code, answer.json()["code"]) == (409, "grace_over")
        assert alice_api.get(f"{PROJECTS}/{project.pk}").status_code == 404

    def test_a_second_delete_does_not_restart_the_grace_period(
        self, alice, project, time_machine
    ):
        first = lifecycle.delete(project, alice).delete_after
        time_machine.move_to(timezone.now() + timedelta(days=31))

        assert lifecycle.delete(project, alice).delete_after == first

    def test_a_live_project_is_not_restored(self, alice_api, project):
        assert alice_api.post(f"{PROJECTS}/{project.pk}/restore").status_code == 404


class TestMembers:
    def test_an_owner_gives_changes_and_takes_a_role(self, alice_api, project, person):
        path = f"{PROJECTS}/{project.pk}/members"
        alice_api.post(path, {"username": "ann", "role": "viewer"})
        alice_api.post(path, {"username": "ann", "role": "curator"})
        listed = alice_api.get(path).json()["results"]
        answer = alice_api.delete(f"{path}?username=ann")

        assert [(row["username"], row["role"]) for row in listed] == [
            ("ann", "curator")
        ]
        assert answer.status_code == 204
        assert not Membership.objects.exists()

    def test_a_role_opens_the_project_to_a_person(self, alice_api, project, person):
        path = f"{PROJECTS}/{project.pk}"
        before = person.get(path).status_code
        alice_api.post(f"{path}/members", {"username": "ann", "role": "viewer"})

        assert (before, person.get(path).status_code) == (404, 200)
        assert person.patch(path, {"description": "x"}).status_code == 403

    def test_the_error_of_a_wrong_role_lists_the_four(self, alice_api, project, person):
        body = {"username": "ann", "role": "king"}
        answer = alice_api.post(f"{PROJECTS}/{project.pk}/members", body)

        assert "viewer, writer, curator, owner" in answer.json()["errors"]["role"][0]

    def test_an_unknown_person_is_a_404(self, alice_api, project):
        body = {"username": "nobody", "role": "viewer"}
        answer = alice_api.post(f"{PROJECTS}/{project.pk}/members", body)

        assert (answer.status_code, answer.json()["code"]) == (404, "no_such_account")
        path = f"{PROJECTS}/{project.pk}/members?username=nobody"
        assert alice_api.delete(path).status_code == 404

    def test_a_writer_changes_no_member(self, bob_api, project, person):
        body = {"username": "ann", "role": "owner"}
        answer = bob_api.post(f"{PROJECTS}/{project.pk}/members", body)

        assert answer.status_code == 403
        assert not Membership.objects.exists()


@pytest.mark.parametrize("is_deleted", [False, True])
@pytest.mark.parametrize("who", ["alice", "bob", "charlie", "SYSTEM"])
def test_is_visible_to_agrees_with_the_query(request, project, who, is_deleted):
    caller = SYSTEM if who == "SYSTEM" else request.getfixturevalue(who)
    if is_deleted:
        project.hide()
        project.save()

    shown = Project.objects.visible_to(caller).filter(pk=project.pk).exists()

    assert project.is_visible_to(caller) == shown
    assert shown == (who != "charlie" and not is_deleted)
