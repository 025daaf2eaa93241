"""An id that is no UUID is answered as one that no row has."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from tests.isolation.route_table import TABLE

API = "/api/v1"


def test_every_route_with_an_id_has_one_code(alice_api):
    wrong = []
    for route in TABLE:
        if "<uuid:" in route.route:
            path = "/".join("no-id" if "<" in p else p for p in route.route.split("/"))
            answer = getattr(alice_api, route.method.lower())(f"/{path}")
            codes = (404, "not_found"), (400, "invalid")
            if route.name == f"DELETE {API[1:]}/memories/<uuid:memory_id>":
                codes = ((204, None),)
            body = answer.json() if answer.content else {}
            if (answer.status_code, body.get("code")) not in codes:
                wrong.append(f"{route.name}: {answer.status_code} {body}")

    assert not wrong, "\n".join(wrong)


def test_the_answer_names_it(alice_api):
    answer = alice_api.get(f"{API}/memories/no-id").json()

    assert answer["detail"] == "'no-id' is the id of no row."


@pytest.mark.django_db
def test_without_a_key_it_is_refused_as_every_id():
    assert APIClient().get(f"{API}/memories/no-id").status_code == 401


@pytest.mark.parametrize(
    "path",
    ["memories/no-id/nothing", "nothing/no-id", "memories/", "memories//history"],
)
def test_an_address_that_is_no_route_stays_one(alice_api, path):
    assert alice_api.get(f"{API}/{path}").json()["code"] == "no_such_route"


def test_a_wrong_method_is_named(alice_api):
    assert alice_api.put(f"{API}/memories/no-id", {}).status_code == 405
