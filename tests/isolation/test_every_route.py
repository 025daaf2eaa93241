"""Store as Alice, read as Charlie: every route, by id, list, search, history, audit."""

from __future__ import annotations

import pytest
from django.urls import get_resolver
from django.utils import timezone
from rest_framework.test import APIClient

from access.models import ApiKey
from common.caller import Role
from tests.isolation import route_table
from tests.isolation.route_table import TABLE, send
from tests.isolation.world import MARK, rows_of, undone

pytestmark = pytest.mark.django_db
ELSEWHERE = "203.0.113.9"
# What a key is told that does not speak for the user whose own it would write.
NOT_THE_USERS = (b"not_your_user", b"session_identity")


def answer_texts(answer, route, world):
    """Return the texts of an answer that are not in its request."""
    text = answer.content.decode()
    for typed in sorted(route.typed(world), key=len, reverse=True):
        text = text.replace(typed, "")
    return text


def by_name(rows):
    return {route.name: route for route in rows}


class TestTheTable:
    def test_it_has_every_route_and_no_other(self):
        assert sorted(by_name(TABLE)) == sorted(route_table.routes())

    def test_it_names_each_route_once(self):
        assert len(by_name(TABLE)) == len(TABLE)


class TestCharlie:
    """The owner of another project in another organization."""

    @pytest.fixture
    def charlie(self, client_of, other_project):
        return client_of(other_project, role=Role.OWNER)

    def test_it_reads_nothing_and_changes_nothing(self, alices, charlie):
        before, wrong = rows_of(alices.project), []
        for route in TABLE:
            answer = send(charlie, route, alices)
            if answer.status_code != route.stranger:
                wrong.append(f"{route.name}: {answer.status_code} {answer.content!r}")
            if MARK in answer_texts(answer, route, alices):
                wrong.append(f"{route.name} tells {answer.content!r}")

        assert not wrong, "\n".join(wrong)
        assert rows_of(alices.project) == before

    def test_a_name_hides_a_project_as_well_as_its_id(self, alices, charlie):
        for route in TABLE:
            if "project_id" in route.body(alices) | route.query(alices):
                answer = send(charlie, route, alices, project_id=alices.project.name)

                assert answer.status_code == 404, route.name

    def test_alices_ids_inside_its_own_project_find_nothing(
        self, alices, charlie, other_project
    ):
        before, wrong = rows_of(alices.project), []
        for route in TABLE:
            if "project_id" not in route.body(alices) | route.query(alices):
                continue
            with undone():
                answer = send(charlie, route, alices, project_id=str(other_project.pk))
                if answer.status_code >= 500 or answer.status_code == 403:
                    wrong.append(f"{route.name}: {answer.status_code}")
                if MARK in answer_texts(answer, route, alices):
                    wrong.append(f"{route.name} tells {answer.content!r}")
                if rows_of(alices.project) != before:
                    wrong.append(f"{route.name} changes a row")

        assert not wrong, "\n".join(wrong)

    @pytest.mark.parametrize(
        ("path", "name"),
        [
            ("audit", "object_id"),
            ("playbook/changes", "entry"),
            ("proposals", "entry"),
            ("proposals", "run_id"),
            ("keys", "project_id"),
        ],
    )
    def test_a_filter_that_names_alices_rows_finds_none(
        self, alices, charlie, other_project, path, name
    ):
        ids = {"object_id": "memory", "entry": "entry", "run_id": "run"}
        asked = {"project_id": str(other_project.pk)}
        asked |= {name: getattr(alices, ids.get(name, "project_id"))}

        assert charlie.get(f"/api/v1/{path}", asked).json()["results"] == []

    def test_an_idempotency_key_of_alices_replays_nothing(
        self, alices, alice_api, charlie, other_project
    ):
        body = {"content": f"{MARK} again and again", "memory_type": "learning"}
        keyed = {"headers": {"Idempotency-Key": "the same"}}
        for client, project in ((alice_api, alices.project), (charlie, other_project)):
            sent = body | {"project_id": str(project.pk)}
            answer = client.post("/api/v1/memories", sent, **keyed)

            assert answer.status_code == 201
            assert answer.json()["memory"]["project_id"] == str(project.pk)


class TestNobody:
    def test_every_route_needs_a_key(self, alices):
        client = APIClient(REMOTE_ADDR=ELSEWHERE)
        for route in TABLE:
            answer = send(client, route, alices)

            assert answer.status_code == 401, route.name
            assert MARK not in answer_texts(answer, route, alices)

    @pytest.mark.parametrize("name", ["revoked_at", "expires_at"])
    def test_an_expired_key_is_refused(self, alices, client_of, name):
        client = client_of(alices.project, role=Role.OWNER, **{name: timezone.now()})
        client.defaults["REMOTE_ADDR"] = ELSEWHERE
        for route in TABLE:
            assert send(client, route, alices).status_code == 401, route.name

    def test_a_wrong_scheme_or_secret_is_refused(self, alices):
        for header in ("Bearer am_wrong", "Bearer", "Basic YTpi", "am_wrong", "é"):
            client = APIClient(REMOTE_ADDR=ELSEWHERE)
            client.credentials(HTTP_AUTHORIZATION=header)
            for route in TABLE[:3]:
                assert send(client, route, alices).status_code == 401, header


class TestRoles:
    @pytest.fixture
    def roles(self, client_of, project):
        return {role: client_of(project, role=role) for role in Role}

    def test_a_role_that_is_too_low_is_refused_and_changes_nothing(self, alices, roles):
        before, wrong = rows_of(alices.project), []
        for route in TABLE:
            if route.lowest is None or route.lowest == Role.VIEWER:
                continue
            answer = send(roles[Role(route.lowest - 1)], route, alices)
            if answer.status_code != route.below:
                wrong.append(f"{route.name}: {answer.status_code} {answer.content!r}")

        assert not wrong, "\n".join(wrong)
        assert rows_of(alices.project) == before

    def test_the_lowest_sufficient_role_is_accepted(
        self, alices, roles, client_of, project
    ):
        server = client_of(project, role=Role.WRITER, acts_for_users=True)
        wrong = []
        for route in TABLE:
            if route.is_for_root:
                continue
            if route.path == ("gone",):
                key = roles[Role.OWNER].key
                key.projects.add(alices.ids["gone"])
            client = roles[route.lowest or Role.VIEWER]
            with undone():
                if route.is_users_own:
                    answer = send(client, route, alices)
                    client = server
                    if not any(code in answer.content for code in NOT_THE_USERS):
                        wrong.append(f"{route.name}: {answer.status_code} for anybody")
                answer = send(client, route, alices)
            is_found = 200 <= answer.status_code < 300
            if is_found == route.is_own_persons:
                wrong.append(f"{route.name}: {answer.status_code} {answer.content!r}")

        assert not wrong, "\n".join(wrong)

    def test_alice_herself_reads_the_word_almost_everywhere(self, alices, alice_api):
        """Otherwise the absence of the word for others would prove nothing."""
        silent = set()
        for route in TABLE:
            if (
                route.method == "GET"
                and MARK not in send(alice_api, route, alices).content.decode()
            ):
                silent.add(route.name.removeprefix("GET "))

        assert silent == {
            f"{route_table.PROJECT}/settings",
            f"{route_table.PROJECT}/indexing",  # counts and a time
            "api/v1/reflections/next",  # it is another key's
            route_table.REFLECTION,  # ids and counts
            "api/v1/agents/config",
            "api/v1/deduplications/<uuid:job_id>",
            # Ids and counts; an old memory, which a plan would name, is not there.
            "api/v1/compactions",
            "api/v1/compactions/plan",
            "api/v1/quotas",
            # Counts, names of the service, a place in a file, and a tree without its texts.
            *(
                f"{route_table.SESSION}/{name}"
                for name in (
                    "stats",
                    "compaction",
                    "summaries",
                    "capabilities",
                    "memory-tool",
                    "transcript",
                )
            ),
            "api/schema",
            "api/docs",
        }


class TestAKeyForEverything:
    def test_it_is_no_stranger_anywhere(self, alices, client_of):
        root = client_of(role=Role.OWNER)
        for route in TABLE:
            if route.method == "GET":
                # 204: of an agent's own person nothing waits.
                assert send(root, route, alices).status_code in (200, 204), route.name


class TestOutsideOfTheApi:
    """Routes without a key reveal nothing of any project; the admin has its own tests."""

    OPEN = {"", "admin", "healthz", "readyz"}

    def test_there_is_no_other_open_address(self):
        found = {str(pattern.pattern) for pattern in get_resolver().url_patterns}
        guarded = {name for name in found if name.startswith(("api/", "admin/"))}

        assert found - guarded <= self.OPEN | {"metrics"}

    def test_it_reveals_nothing(self, alices):
        client = APIClient(REMOTE_ADDR=ELSEWHERE)
        for path in self.OPEN | {"metrics", "nowhere"}:
            assert MARK not in client.get(f"/{path}").content.decode()


def test_keys_are_hashed_and_never_returned_again(alices, alice_api):
    listed = alice_api.get("/api/v1/keys").content.decode()

    assert "secret" not in listed
    for key in ApiKey.objects.all():
        assert key.hash not in listed
