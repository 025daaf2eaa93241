"""A path takes the name of a project as well as its id."""

from __future__ import annotations

import pytest

API = "/api/v1/projects"


@pytest.fixture(params=["alpha", "acme/hand book", "settings"])
def name(request, project):
    project.name = request.param
    project.save()
    return request.param


def test_it_is_read_and_changed_by_its_name(name, project, alice_api):
    changed = alice_api.patch(f"{API}/{name}", {"description": "By its name"})
    read = alice_api.get(f"{API}/{name}").json()

    assert changed.status_code == 200
    assert (read["id"], read["description"]) == (str(project.pk), "By its name")


@pytest.mark.parametrize("rest", ["settings", "members"])
def test_so_is_what_lies_below_it(name, alice_api, rest):
    assert alice_api.get(f"{API}/{name}/{rest}").status_code == 200


def test_it_is_restored_by_its_name(name, alice_api):
    assert alice_api.delete(f"{API}/{name}").status_code == 204
    headers = {"Idempotency-Key": "r-1"}

    first = alice_api.post(f"{API}/{name}/restore", headers=headers)
    again = alice_api.post(f"{API}/{name}/restore", headers=headers)

    assert (first.status_code, again.status_code) == (200, 200)
    assert again.headers["Idempotent-Replay"] == "true"


def test_a_name_that_is_hidden_or_unknown_is_not_found(project, charlie_api):
    for name in (project.name, "no such project"):
        answer = charlie_api.get(f"{API}/{name}/settings")

        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
