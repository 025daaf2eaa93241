from __future__ import annotations

from base64 import urlsafe_b64encode

import pytest

from jobs.models import Job

pytestmark = pytest.mark.django_db
JOBS = "/api/v1/jobs"


@pytest.fixture
def ids(project):
    """Newest first, as the pages give them."""
    rows = [Job(kind="x", project_id=project.pk) for _ in range(7)]
    Job.objects.bulk_create(rows)
    return [str(row.pk) for row in reversed(rows)]


def page(api, address):
    found = api.get(address).json()
    return [row["id"] for row in found["results"]], found["next"], found["previous"]


class TestPages:
    def test_they_lead_back_and_forth(self, bob_api, ids):
        first, following, none = page(bob_api, f"{JOBS}?limit=3")
        second, last, before = page(bob_api, following)
        third, end, _ = page(bob_api, last)

        assert first + second + third == ids
        assert (none, end) == (None, None)
        assert page(bob_api, before)[0] == first

    def test_a_row_added_meanwhile_moves_nothing(self, bob_api, ids, project):
        _, following, _ = page(bob_api, f"{JOBS}?limit=3")
        Job.objects.create(kind="x", project_id=project.pk)

        assert page(bob_api, following)[0] == ids[3:6]

    def test_a_page_back_keeps_its_size_and_its_filters(self, bob_api, ids):
        _, following, _ = page(bob_api, f"{JOBS}?limit=2&kind=x")
        _, third, _ = page(bob_api, following)
        _, _, before = page(bob_api, third)

        assert "kind=x" in before and "limit=2" in before
        assert page(bob_api, before)[0] == ids[2:4]

    def test_no_rows_are_an_empty_page(self, bob_api):
        assert page(bob_api, JOBS) == ([], None, None)


@pytest.mark.parametrize(
    "cursor",
    [
        "garbage",
        "é",
        "=",
        "older",
        "%00",
        *(
            urlsafe_b64encode(text.encode()).decode()
            for text in ("older:", "older:5", "up:0192c7a4-0000-7000-8000-000000000000")
        ),
    ],
)
def test_a_bad_cursor_is_a_400(bob_api, cursor):
    answer = bob_api.get(f"{JOBS}?cursor={cursor}")

    assert answer.status_code == 400
    assert answer.json()["code"] in ("invalid_cursor", "invalid_text")


@pytest.mark.parametrize("limit", ["0", "101", "-1", "x", "", "9" * 50, "1.5", "٣"])
def test_a_limit_is_a_number_from_1_to_100(bob_api, limit):
    answer = bob_api.get(f"{JOBS}?limit={limit}")

    assert answer.status_code == 400
    assert "limit" in answer.json()["errors"]
