"""`explain` tells how the lanes of a search found rows."""

from __future__ import annotations

import pytest

from search import postings, semantic

URL = "/api/v1/search"


def test_which_words_were_asked_for(bob_api, project, remember, count, monkeypatch):
    for n in range(3):
        remember(f"warmed cache {n} " + " ".join(f"word{n}x{m}" for m in range(40)))
        remember(f"warmed place {n}")
    count()
    monkeypatch.setattr(postings, "CANDIDATE_ROWS", 3)
    monkeypatch.setattr(postings, "MIN_ROWS", 2)
    monkeypatch.setattr(semantic, "DEPTH", 2)

    def lane(words, **fields):
        asked = {"project_id": str(project.pk), "query": words, "explain": True}
        answer = bob_api.post(URL, asked | fields, format="json").json()
        return answer["explanation"]["keyword_lane"]

    assert lane("cache") == {"asked": ["cach"], "all_rows": True}
    assert lane("warmed cache") == {"asked": ["cach"], "all_rows": False}
    assert lane("warmed cache", mode="semantic") is None


def test_a_bound_key_is_told_no_counts_of_rows_that_it_may_not_read(
    client_of, project, remember
):
    remember("the cache is warmed at night")
    bound = client_of(project, user_id="u2")
    asked = {"project_id": str(project.pk), "query": "warmed cache"}

    shown = bound.post(URL, asked | {"explain": True}, format="json").json()

    assert shown["explanation"]["semantic_lane"] == {"how": "exact"}
    assert shown["explanation"]["keyword_lane"] is None
    assert all(set(term) == {"lexeme"} for term in shown["explanation"]["terms"])


@pytest.mark.parametrize("value", ["warm", 7, [], {"id": 1}])
def test_anything_but_true_and_false_is_refused(bob_api, project, value):
    asked = {"project_id": str(project.pk), "query": "cache", "explain": value}
    answer = bob_api.post(URL, asked, format="json")

    assert answer.status_code == 400
    assert list(answer.json()["errors"]) == ["explain"]
