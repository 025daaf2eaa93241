"""Every error under /api is a problem, whatever raises it."""

from __future__ import annotations

import psycopg
import pytest
from django.db import DataError, OperationalError
from rest_framework.test import APIClient

from audit.models import AuditEvent
from common.caller import Role
from projects import lifecycle

pytestmark = pytest.mark.django_db
PROJECTS = "/api/v1/projects"
MEMBERS = {"type", "title", "status", "code", "detail", "errors", "request_id"}


@pytest.fixture
def api(client_of):
    client = client_of(role=Role.OWNER)
    client.raise_request_exception = False
    return client


def send(api, body, content_type="application/json", **headers):
    return api.generic("POST", PROJECTS, body, content_type, **headers)


def assert_problem(answer, status, code):
    assert answer.headers["Content-Type"] == "application/problem+json"
    problem = answer.json()
    assert problem.keys() >= MEMBERS
    assert (answer.status_code, problem["status"], problem["code"]) == (
        status,
        status,
        code,
    )
    assert problem["detail"]
    assert problem["request_id"]


class TestBodies:
    def test_another_type_of_content(self, api):
        for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
            assert_problem(send(api, "{}", kind), 415, "unsupported_media_type")

    def test_one_over_the_limit(self, api, settings):
        settings.BODY_LIMIT = 1_000
        answer = send(api, b'{"name": "' + b"x" * 1_000 + b'"}')

        assert_problem(answer, 413, "too_large")

    def test_fifty_megabytes(self, api):
        answer = send(api, b'{"name": "' + b"x" * 50_000_000 + b'"}')

        assert_problem(answer, 413, "too_large")

    def test_ten_thousand_nested_lists(self, api):
        body = b'{"name": ' + b"[" * 10_000 + b"]" * 10_000 + b"}"

        assert_problem(send(api, body), 400, "too_deep")

    def test_a_length_that_is_not_a_number(self, api):
        answer = send(api, b"{}", CONTENT_LENGTH="many")

        assert_problem(answer, 400, "length_required")

    def test_one_in_chunks(self, api):
        answer = send(api, b"{}", CONTENT_LENGTH="", HTTP_TRANSFER_ENCODING="chunked")

        assert_problem(answer, 400, "length_required")

    def test_an_empty_one_lacks_its_fields(self, api):
        assert_problem(send(api, b""), 400, "invalid")

    @pytest.mark.parametrize("hostile", ["'; DROP TABLE x; --", "<script>x</script>"])
    def test_sql_and_html_are_stored_as_text(self, api, hostile):
        answer = api.post(PROJECTS, {"name": hostile, "description": hostile})

        assert answer.json()["name"] == hostile
        assert answer.headers["Content-Type"] == "application/json"


class TestAddresses:
    @pytest.mark.parametrize("path", ["/api/nope", "/api/v1/nope", f"{PROJECTS}/"])
    def test_an_unknown_route(self, api, path):
        assert_problem(api.get(path), 404, "no_such_route")

    def test_a_method_that_the_route_does_not_accept(self, api):
        answer = api.put(PROJECTS, {})

        assert_problem(answer, 405, "method_not_allowed")
        assert "POST" in answer.headers["Allow"]

    @pytest.mark.parametrize("query", ["name=%00", "name=%ff", "name=%ed%a0%80"])
    def test_a_query_that_is_not_text(self, api, query):
        assert_problem(api.get(f"{PROJECTS}?{query}"), 400, "invalid_text")

    @pytest.mark.parametrize("path", ["/%00", "/%ff", "/a%00b/settings", "/%ed%a0%80"])
    def test_a_path_that_is_not_text(self, api, path):
        assert api.get(PROJECTS + path).status_code in (400, 404)

    def test_an_unknown_host(self, api):
        answer = api.get(PROJECTS, HTTP_HOST="evil.example")

        assert_problem(answer, 400, "broken_request")

    def test_a_query_of_too_many_fields(self, api):
        answer = api.get(f"{PROJECTS}?" + "a=1&" * 3_000)

        assert_problem(answer, 400, "broken_request")

    def test_errors_outside_of_the_api_are_pages(self):
        answer = APIClient().get("/nope")

        assert answer.status_code == 404
        assert answer.headers["Content-Type"].startswith("text/html")


class TestFailures:
    @pytest.mark.parametrize(
        ("error", "cause", "status", "code"),
        [
            (OperationalError, psycopg.errors.LockNotAvailable, 503, "busy"),
            (OperationalError, psycopg.errors.DeadlockDetected, 503, "busy"),
            (OperationalError, psycopg.errors.QueryCanceled, 503, "too_slow"),
            (OperationalError, psycopg.OperationalError, 503, "unavailable"),
            (DataError, psycopg.errors.NumericValueOutOfRange, 400, "out_of_range"),
            (RuntimeError, None, 500, "internal"),
        ],
    )
    def test_an_error_of_the_database(
        self, api, monkeypatch, error, cause, status, code
    ):
        def fail(*args, **kwargs):
            raise error("told to nobody") from (cause and cause())

        monkeypatch.setattr(lifecycle, "create", fail)
        answer = api.post(PROJECTS, {"name": "x"})

        assert_problem(answer, status, code)
        assert "told to nobody" not in answer.content.decode()
        assert answer.has_header("Retry-After") == (status == 503)


def test_the_request_id_is_that_of_the_audit_row(bob_api, project):
    answer = bob_api.patch(f"{PROJECTS}/{project.pk}", {"name": "x"})

    event = AuditEvent.objects.get(verb="access.refused")
    assert event.request_id == answer.json()["request_id"]


def test_a_request_id_from_outside_is_ignored(api):
    answer = api.get("/api/v1/nope", headers={"x-request-id": "x" * 500})

    assert len(answer.json()["request_id"]) == 36
