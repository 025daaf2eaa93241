"""A day counts whole, and the facts of a key stand in the order of their times."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from memories.models import Memory


@pytest.fixture
def tell(alice_api, project):
    """Store a fact of the key `db` and return the receipt."""

    def post(value, occurred_at=None, **fields):
        fact = {"kind": "fact", "key": "db", "value": value, "occurred_at": occurred_at}
        body = {"project_id": str(project.pk), "content": f"The database is {value}."}
        answer = alice_api.post("/api/v1/memories", body | fact | fields)
        assert answer.status_code in (200, 201), answer.json()
        return answer.json()

    return post


def current():
    return [row.value for row in Memory.objects.current().order_by("pk")]


class TestFactsOfAKey:
    @pytest.mark.parametrize(
        ("told", "last"),
        [
            ([("a", "2026-06-01"), ("b", "2024-01-15")], "a"),
            ([("a", "2024-01-15"), ("b", "2026-06-01")], "b"),
            ([("a", "2024-05-01"), ("b", "2024-05-01")], "b"),
            ([("a", None), ("b", "2024-01-15")], "a"),
            ([("a", "2024-01-15"), ("b", None)], "b"),
            ([("a", "2999-01-15"), ("b", None)], "b"),
            # Nobody outbids all later facts: one that is dated ahead counts by its arrival.
            ([("a", "2999-01-15"), ("b", "2998-01-15")], "b"),
            ([("a", "2024-01-01"), ("b", "2026-01-01"), ("c", "2025-01-01")], "b"),
            # A repetition at a later time says that the first fact still holds.
            ([("a", "2024-01-01"), ("a", "2026-01-01"), ("b", "2025-01-01")], "a"),
            ([("a", "2024-01-01T23:00:00-05:00"), ("b", "2024-01-02T03:00:00Z")], "a"),
        ],
    )
    def test_the_one_with_the_latest_time_is_current(self, tell, told, last):
        for value, at in told:
            tell(value, at and (at if "T" in at else f"{at}T00:00:00Z"))

        assert current() == [last]

    def test_an_older_one_is_kept_and_its_receipt_says_why(self, tell):
        newest = tell("a", "2026-06-01T00:00:00Z")

        receipt = tell("b", "2024-01-15T00:00:00Z")

        assert receipt["status"] == "stored"
        assert newest["id"] in receipt["notes"][0]
        assert receipt["searchable"] == {"keyword": False, "semantic": False}
        old = Memory.objects.get(pk=receipt["id"])
        assert (str(old.superseded_by_id), old.value) == (newest["id"], "b")

    def test_one_that_has_expired_does_not_hide_an_older_one(self, tell):
        soon = timezone.now() + timedelta(hours=1)
        tell("a", "2026-06-01T00:00:00Z", expires_at=soon.isoformat())
        Memory.objects.update(expires_at=timezone.now() - timedelta(hours=1))

        tell("b", "2024-01-15T00:00:00Z")

        assert current() == ["b"]

    def test_those_of_one_batch_stand_in_this_order_too(self, alice_api, project):
        facts = [("a", "2026-02-01"), ("b", "2025-02-01"), ("c", "2025-08-01")]
        rows = [
            {
                "kind": "fact",
                "key": "lead",
                "value": value,
                "content": f"The lead of the team is {value} this year.",
                "occurred_at": f"{day}T00:00:00Z",
            }
            for value, day in facts
        ]
        body = {"project_id": str(project.pk), "memories": rows}
        alice_api.post("/api/v1/memories/batch", body)

        assert current() == ["a"]


class TestDays:
    @pytest.fixture
    def found(self, alice_api, project, tell):
        """Whether a search, the list and MCP find a memory of noon within bounds."""
        stored = tell("a")["id"]
        noon = timezone.now().replace(year=2026, month=3, day=31, hour=12)
        Memory.objects.filter(pk=stored).update(created_at=noon)

        def ask(**bounds):
            body = {"project_id": str(project.pk), "query": "database", **bounds}
            answer = alice_api.post("/api/v1/search", body)
            assert answer.status_code == 200, answer.json()
            return bool(answer.json()["hits"])

        return ask

    @pytest.mark.parametrize(
        ("bounds", "is_found"),
        [
            ({"date_to": "2026-03-31"}, True),
            ({"date_from": "2026-03-31", "date_to": "2026-03-31"}, True),
            ({"date_from": "2026-03-31"}, True),
            ({"date_to": "2026-03-30"}, False),
            ({"date_from": "2026-04-01"}, False),
            ({"date_to": "2026-03-31T00:00:00Z"}, False),
            ({"date_to": "2026-03-31T14:59:00+02:00"}, True),
            ({"date_to": "2026-03-31T12:00:00 00:00"}, False),
            ({"date_from": "2026-03-31T11:00:00 00:00"}, True),
        ],
    )
    def test_a_day_counts_whole(self, found, bounds, is_found):
        assert found(**bounds) is is_found

    def test_a_memory_lasts_through_the_day_on_which_it_expires(self, tell):
        row = tell("a", expires_at="2999-12-31")["memory"]

        assert row["expires_at"].startswith("2999-12-31T23:59:59")


class TestLength:
    @pytest.mark.parametrize(
        "text",
        [
            "缓存已禁用。",
            "税率は八%です。",
            "서버는 둘이다.",
            "不要用MySQL。",
            "生产禁用调试",
            "ｶﾀｶﾅﾃﾞｽ",
        ],
    )
    def test_a_short_sentence_of_wide_letters_is_a_memory(
        self, alice_api, project, text
    ):
        body = {"project_id": str(project.pk), "content": text}

        assert alice_api.post("/api/v1/memories", body).status_code == 201

    @pytest.mark.parametrize(
        "text", ["缓存", "too short", "👍👍👍👍", "。。。。。", "é" * 9]
    )
    def test_what_says_less_is_refused(self, alice_api, project, text):
        body = {"project_id": str(project.pk), "content": text}
        answer = alice_api.post("/api/v1/memories", body)

        assert answer.status_code == 400
        assert "content" in answer.json()["errors"]
