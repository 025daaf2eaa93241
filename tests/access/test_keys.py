from __future__ import annotations

import sys
from datetime import timedelta
from io import StringIO

import pytest
from agent_memory import keys as client_keys
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.utils import timezone
from rest_framework.test import APIClient

from access import authentication, keys
from access.models import ApiKey, hash_secret
from audit.models import AuditEvent
from common import errors
from common.caller import Caller, Role

pytestmark = pytest.mark.django_db
KEYS = "/api/v1/keys"
PROJECTS = "/api/v1/projects"


@pytest.fixture
def clock(time_machine):
    time_machine.move_to(timezone.now())
    return time_machine


@pytest.fixture
def dave(db):
    return User.objects.create_user("dave")


def bearer(secret):
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client


class TestIssuing:
    def test_its_user_is_kept_as_it_was_sent(self, alice_api, project):
        body = {"name": "k", "projects": [project.name], "user_id": " u1 "}

        assert alice_api.post(KEYS, body).json()["user_id"] == " u1 "


class TestPresentingOne:
    def test_it_opens_the_projects_it_is_bound_to(self, project):
        issued = keys.issue(name="k", role=Role.VIEWER, projects=[project])

        assert bearer(issued.secret).get(f"{PROJECTS}/{project.pk}").status_code == 200

    def test_it_takes_one_query(self, alice_api, django_assert_num_queries):
        alice_api.get(f"{KEYS}?limit=0")

        with django_assert_num_queries(1):
            alice_api.get(f"{KEYS}?limit=0")

    @pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Bearer am_wrong"])
    def test_without_a_good_one_there_is_a_401(self, header):
        answer = APIClient().get(PROJECTS, headers={"authorization": header})

        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert answer.json()["code"] == "unauthenticated"

    @pytest.mark.parametrize(
        "secret", ["é" * 46, "am_" + "x" * 5_000, "am_\x7f", "a b c", "am_" + "ÿ" * 43]
    )
    def test_a_strange_secret_is_a_401(self, secret):
        assert bearer(secret).get(PROJECTS).status_code == 401

    def test_another_scheme_is_a_401(self):
        header = {"authorization": "Basic YTpi"}

        assert APIClient().get(PROJECTS, headers=header).status_code == 401

    @pytest.mark.parametrize("field", ["expires_at", "revoked_at"])
    def test_an_ended_one_is_a_401(self, client_of, field):
        ended = client_of(**{field: timezone.now() - timedelta(seconds=1)})

        assert ended.get(PROJECTS).status_code == 401

    def test_an_inactive_persons_is_a_401_until_they_are_back(
        self, client_of, project, dave
    ):
        client = client_of(project, account=dave)
        for is_active, status in ((False, 401), (True, 200)):
            dave.is_active = is_active
            dave.save()

            assert client.get(PROJECTS).status_code == status
            usable = ApiKey.objects.usable().filter(pk=client.key.pk)
            assert usable.exists() is is_active

    def test_a_deleted_persons_is_a_401_however_they_are_deleted(
        self, client_of, project, dave
    ):
        live, ended = client_of(project, account=dave), client_of(account=dave)
        keys.revoke(ended.key)
        before = ApiKey.objects.get(pk=ended.key.pk).revoked_at
        type(dave).objects.filter(pk=dave.pk).delete()

        assert live.get(PROJECTS).status_code == 401
        assert ApiKey.objects.get(pk=ended.key.pk).revoked_at == before

    def test_its_last_use_is_recorded_once_a_minute(self, alice_api, clock):
        alice_api.get(PROJECTS)
        first = ApiKey.objects.get(pk=alice_api.key.pk).last_used_at
        clock.shift(30)
        alice_api.get(PROJECTS)
        second = ApiKey.objects.get(pk=alice_api.key.pk).last_used_at
        clock.shift(31)
        alice_api.get(PROJECTS)
        third = ApiKey.objects.get(pk=alice_api.key.pk).last_used_at

        assert first == second < third

    def test_a_refused_one_is_audited_once_a_minute(self, db):
        client = bearer("am_abcdefghijklmnop")
        for _ in range(3):
            client.get(PROJECTS)

        event = AuditEvent.objects.get(verb="access.refused")
        assert event.actor == "key:am_abcdefgh"
        assert event.detail["status"] == 401
        assert event.address == "127.0.0.1"

    def test_only_the_prefix_of_the_secret_is_stored(self, project):
        issued = keys.issue(name="k", role=Role.VIEWER, projects=[project])

        assert issued.key.hash == hash_secret(issued.secret)
        assert len(issued.key.prefix) < 12
        assert issued.secret not in str(AuditEvent.objects.values())


class TestIssue:
    def test_the_secret_is_returned_once(self, alice_api, project):
        body = {"name": "ci", "role": "writer", "projects": [str(project.pk)]}
        made = alice_api.post(KEYS, body)
        again = alice_api.get(f"{KEYS}/{made.json()['id']}").json()

        assert made.status_code == 201
        assert made.json()["projects"] == [str(project.pk)]
        assert bearer(made.json()["secret"]).get(PROJECTS).status_code == 200
        assert "secret" not in again and "hash" not in again

    def test_a_replay_does_not_return_it_again(self, alice_api, project):
        body = {"name": "ci", "projects": ["alpha"]}
        headers = {"idempotency-key": "k1"}
        first = alice_api.post(KEYS, body, headers=headers).json()
        second = alice_api.post(KEYS, body, headers=headers).json()

        assert first["secret"] and second["secret"] is None
        assert second["id"] == first["id"]

    def test_it_is_audited(self, alice_api, project):
        made = alice_api.post(KEYS, {"name": "ci", "projects": ["alpha"]}).json()

        event = AuditEvent.objects.get(verb="key.issued", object_id=made["id"])
        assert event.project_id == project.pk
        assert event.detail["role"] == "writer"

    def test_it_takes_an_owner_of_every_project_named(
        self, alice_api, bob_api, client_of, project, other_project
    ):
        body = {"name": "ci", "projects": ["alpha", "charlies"]}
        both = client_of(project, other_project, role=Role.OWNER)

        assert bob_api.post(KEYS, body | {"projects": ["alpha"]}).status_code == 403
        assert alice_api.post(KEYS, body).status_code == 404
        assert both.post(KEYS, body).status_code == 201

    def test_a_key_for_everything_takes_an_owner_of_everything(
        self, alice_api, client_of
    ):
        body = {"name": "ci", "role": "viewer"}

        assert alice_api.post(KEYS, body).status_code == 403
        assert client_of(role=Role.CURATOR).post(KEYS, body).status_code == 403
        assert client_of(role=Role.OWNER).post(KEYS, body).status_code == 201

    def test_a_bound_key_issues_keys_bound_the_same(self, client_of, project):
        bound = client_of(project, role=Role.OWNER, user_id="u1", agent_id="a1")
        body = {"name": "ci", "projects": ["alpha"], "agent_id": "a1"}

        assert bound.post(KEYS, body).status_code == 403
        assert bound.post(KEYS, body | {"user_id": "u2"}).status_code == 403
        assert bound.post(KEYS, body | {"user_id": "u1"}).status_code == 201

    def test_an_expiry_in_the_past_is_refused(self, alice_api, project):
        body = {"name": "ci", "projects": ["alpha"], "expires_at": "2020-01-01T00:00Z"}
        answer = alice_api.post(KEYS, body)

        assert answer.json()["errors"]["expires_at"] == ["must be in the future"]

    def test_a_key_issued_by_a_key_has_the_same_account(self, client_of, dave):
        of_dave = client_of(role=Role.OWNER, account=dave)
        of_nobody = client_of(role=Role.OWNER)
        made = of_dave.post(KEYS, {"name": "ci"}).json()
        rotated = of_dave.post(f"{KEYS}/{of_nobody.key.pk}/rotate").json()

        for answer in (made, rotated):
            assert ApiKey.objects.get(pk=answer["id"]).account == dave


class TestRotate:
    def test_both_are_usable_during_the_overlap(self, alice_api, clock):
        made = alice_api.post(f"{KEYS}/{alice_api.key.pk}/rotate")
        new = bearer(made.json()["secret"])

        assert alice_api.get(PROJECTS).status_code == 200
        assert new.get(PROJECTS).status_code == 200
        clock.shift(timedelta(hours=25))
        assert alice_api.get(PROJECTS).status_code == 401
        assert new.get(PROJECTS).status_code == 200

    def test_the_new_one_is_like_the_old(self, project):
        old = keys.issue(name="k", role=Role.CURATOR, projects=[project], agent_id="a")
        new = keys.rotate(old.key).key

        assert (new.role, new.agent_id, list(new.projects.all())) == (
            Role.CURATOR,
            "a",
            [project],
        )

    def test_it_has_the_lifetime_of_the_old_one(self, clock):
        end = timezone.now() + timedelta(days=30)
        old = keys.issue(name="k", role=Role.VIEWER, expires_at=end).key
        clock.shift(timedelta(days=29))
        new = keys.rotate(old).key

        assert abs(new.expires_at - end - timedelta(days=29)) < timedelta(seconds=5)

    def test_the_key_of_an_inactive_person_can_be_rotated(self, client_of, dave):
        key = client_of(account=dave).key
        dave.is_active = False
        dave.save()
        new = client_of().post(f"{KEYS}/{key.pk}/rotate").json()["secret"]

        assert bearer(new).get(PROJECTS).status_code == 200

    def test_a_key_is_rotated_once(self, alice_api):
        alice_api.post(f"{KEYS}/{alice_api.key.pk}/rotate")
        answer = alice_api.post(f"{KEYS}/{alice_api.key.pk}/rotate")

        assert (answer.status_code, answer.json()["code"]) == (409, "key_revoked")

    def test_an_owner_continues_the_line_of_an_ended_key(self, alice_api, project):
        ended = keys.issue(name="k", role=Role.WRITER, projects=[project]).key
        keys.revoke(ended)
        answer = alice_api.post(f"{KEYS}/{ended.pk}/rotate").json()

        assert bearer(answer["secret"]).get(PROJECTS).status_code == 200
        assert answer["line_id"] == str(ended.line_id)
        ended.refresh_from_db()
        assert ended.has_ended

    def test_a_bound_owner_cannot_take_over_an_unbound_key(self, client_of, project):
        free = keys.issue(name="k", role=Role.OWNER, projects=[project]).key
        bound = client_of(project, role=Role.OWNER, user_id="u1")

        assert bound.post(f"{KEYS}/{free.pk}/rotate").status_code == 404
        assert bound.delete(f"{KEYS}/{free.pk}").status_code == 404

    def test_the_new_one_is_of_the_same_line_and_may_attest_alike(self, project):
        first = keys.issue(
            name="k", role=Role.WRITER, projects=[project], may_attest=True
        ).key
        second = keys.rotate(first).key
        third = keys.rotate(second).key

        assert first.line_id == first.pk
        assert {second.line_id, third.line_id} == {first.pk}
        assert third.may_attest

    def test_a_key_that_may_not_attest_cannot_take_over_one_that_may(
        self, client_of, project
    ):
        attesting = keys.issue(
            name="k", role=Role.WRITER, projects=[project], may_attest=True
        ).key
        plain_owner = client_of(project, role=Role.OWNER)

        refused = plain_owner.post(f"{KEYS}/{attesting.pk}/rotate")
        assert refused.status_code == 403
        assert plain_owner.delete(f"{KEYS}/{attesting.pk}").status_code == 204


class TestAttesting:
    """`may_attest` says whose reports of tests and facts a project believes."""

    def test_a_new_key_may_not_attest(self, alice_api):
        made = alice_api.post(KEYS, {"name": "k", "projects": ["alpha"]}, format="json")

        assert (made.status_code, made.json()["may_attest"]) == (201, False)

    def test_an_owner_whose_key_may_attest_issues_one_that_may(self, alice_api):
        body = {"name": "ci", "projects": ["alpha"], "may_attest": True}
        made = alice_api.post(KEYS, body, format="json")

        assert made.json()["may_attest"] is True
        event = AuditEvent.objects.get(verb="key.issued")
        assert event.detail["may_attest"] is True

    def test_an_owner_whose_key_may_not_attest_cannot(self, client_of, project):
        owner = client_of(project, role=Role.OWNER)
        body = {"name": "ci", "projects": ["alpha"], "may_attest": True}

        assert owner.post(KEYS, body, format="json").status_code == 403
        own = owner.patch(f"{KEYS}/{owner.key.pk}", {"may_attest": True}, format="json")
        assert own.status_code == 403

    def test_a_signed_in_owner_issues_one_that_may(self, project, dave):
        olga = Caller("user:dave", roles={project.pk: Role.OWNER}, account_id=dave.pk)
        issued = keys.issue(
            name="ci",
            role=Role.WRITER,
            projects=[project],
            may_attest=True,
            caller=olga,
        )

        assert issued.key.may_attest

    def test_it_is_changed_by_an_owner_and_audited(self, alice_api, bob_api):
        bob_key = f"{KEYS}/{bob_api.key.pk}"
        for value in (True, True, False):
            answer = alice_api.patch(bob_key, {"may_attest": value}, format="json")
            assert answer.json()["may_attest"] is value

        events = AuditEvent.objects.filter(verb="key.changed").order_by("pk")
        assert [event.detail["may_attest"] for event in events] == [True, False]

    def test_a_writer_does_not_change_its_own(self, bob_api):
        answer = bob_api.patch(
            f"{KEYS}/{bob_api.key.pk}", {"may_attest": True}, format="json"
        )

        assert answer.status_code == 403

    def test_a_signed_in_curator_attests_and_a_signed_in_writer_does_not(
        self, project, other_project
    ):
        roles = {project.pk: Role.CURATOR, other_project.pk: Role.WRITER}
        carol = Caller("user:carol", roles=roles, account_id=1)

        assert carol.attests_in(project.pk)
        assert not carol.attests_in(other_project.pk)

    def test_a_curators_key_attests_only_if_an_owner_said_so(self, project):
        key = Caller("key", roles={project.pk: Role.CURATOR}, key_id=project.pk)

        assert not key.attests_in(project.pk)


class TestPerson:
    """The person behind a key: its user, else its account, else its line."""

    @pytest.fixture
    def caller_of(self, rf):
        def caller_of(key):
            key.project_ids = []
            return authentication.caller_for_key(key, rf.get("/"))

        return caller_of

    def test_keys_of_one_user_are_one_person(self, caller_of):
        first, second = (
            keys.issue(name="k", role=Role.WRITER, user_id="u1").key for _ in range(2)
        )

        assert caller_of(first).person == caller_of(second).person

    def test_keys_of_one_account_are_one_person(self, caller_of, dave):
        olga = Caller("user:dave", everywhere=Role.OWNER, account_id=dave.pk)
        first, second = (
            keys.issue(name="k", role=Role.WRITER, caller=olga).key for _ in range(2)
        )

        assert caller_of(first).person == caller_of(second).person == olga.person

    def test_a_key_is_one_person_with_the_key_that_issued_it(self, caller_of):
        first = caller_of(keys.issue(name="k", role=Role.OWNER).key)
        second = caller_of(keys.issue(name="k", role=Role.OWNER, caller=first).key)
        third = caller_of(keys.issue(name="k", role=Role.WRITER, caller=second).key)

        assert first.person == second.person == third.person
        assert first.line_id != second.line_id

    def test_a_rotated_key_stays_one_person_and_another_key_is_another(self, caller_of):
        first = keys.issue(name="k", role=Role.WRITER).key
        other = keys.issue(name="k", role=Role.WRITER).key
        second = keys.rotate(first).key

        assert caller_of(first).person == caller_of(second).person
        assert caller_of(first).person != caller_of(other).person


class TestRevoke:
    def test_it_ends_the_key_at_once(self, alice_api, project):
        issued = keys.issue(name="k", role=Role.VIEWER, projects=[project])

        assert alice_api.delete(f"{KEYS}/{issued.key.pk}").status_code == 204
        assert bearer(issued.secret).get(PROJECTS).status_code == 401
        assert AuditEvent.objects.filter(verb="key.revoked").count() == 1

    def test_a_second_time_changes_nothing(self, alice_api, project):
        key = keys.issue(name="k", role=Role.VIEWER, projects=[project]).key
        alice_api.delete(f"{KEYS}/{key.pk}")

        assert alice_api.delete(f"{KEYS}/{key.pk}").status_code == 204
        assert AuditEvent.objects.filter(verb="key.revoked").count() == 1

    def test_a_writer_ends_only_its_own(self, bob_api, alice_api):
        other = f"{KEYS}/{alice_api.key.pk}"

        assert bob_api.delete(other).status_code == 404
        assert bob_api.delete(f"{KEYS}/{bob_api.key.pk}").status_code == 204


class TestList:
    def test_an_owner_sees_the_keys_of_its_projects(self, alice_api, bob_api):
        listed = alice_api.get(KEYS).json()["results"]

        assert {row["id"] for row in listed} == {
            str(alice_api.key.pk),
            str(bob_api.key.pk),
        }

    def test_a_writer_and_a_stranger_see_their_own(
        self, alice_api, bob_api, charlie_api
    ):
        for api in (bob_api, charlie_api):
            listed = api.get(KEYS).json()["results"]
            assert [row["id"] for row in listed] == [str(api.key.pk)]
            assert api.get(f"{KEYS}/{alice_api.key.pk}").status_code == 404

    def test_a_key_that_reaches_further_is_hidden(
        self, alice_api, client_of, project, other_project
    ):
        wide = client_of(project, other_project, role=Role.VIEWER)
        everything = client_of(role=Role.VIEWER)

        for key in (wide.key, everything.key):
            assert alice_api.get(f"{KEYS}/{key.pk}").status_code == 404


class TestRevocationByTheCheckout:
    def test_the_code_of_am_connect_ends_only_the_key_on_stdin(self, monkeypatch):
        wanted, other = (keys.issue(name="k", role=Role.OWNER) for _ in range(2))
        monkeypatch.setattr(sys, "stdin", StringIO(wanted.secret))

        exec(client_keys.REVOKE_CODE, {})

        assert bearer(wanted.secret).get(KEYS).status_code == 401
        assert bearer(other.secret).get(KEYS).status_code == 200


class TestCommand:
    def run(self, *options):
        out = StringIO()
        call_command("create_key", *options, stdout=out)
        return out.getvalue()

    def test_it_prints_only_the_key(self, project):
        printed = self.run("--role", "curator", "--project", "alpha", "--expires", "7")

        key = ApiKey.objects.get(hash=hash_secret(printed.strip()))
        assert printed == printed.strip() + "\n"
        assert key.role == Role.CURATOR
        assert list(key.projects.all()) == [project]
        assert key.expires_at > timezone.now() + timedelta(days=6)

    def test_it_may_attest_if_asked(self):
        printed = self.run("--may-attest")

        assert ApiKey.objects.get(hash=hash_secret(printed.strip())).may_attest

    def test_without_a_project_it_is_for_every_one(self):
        printed = self.run("--user-id", "u1")

        key = ApiKey.objects.get(hash=hash_secret(printed.strip()))
        assert (key.everywhere, key.role, key.user_id) == (True, Role.WRITER, "u1")

    def test_an_unknown_project_is_an_error(self):
        with pytest.raises(CommandError, match="no project 'nope'"):
            self.run("--project", "nope")


def test_a_refused_issue_stores_nothing(alice):
    with pytest.raises(errors.Forbidden):
        keys.issue(name="k", role=Role.OWNER, caller=alice)

    assert not ApiKey.objects.exists()
