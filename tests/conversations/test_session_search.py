"""Search in one session and in all that a caller may see."""

from __future__ import annotations

import pytest

from common.caller import Role
from conversations.session_search.neighbours import PlacedScore, add_neighbours
from inference.embedding import active_model
from inference.errors import InferenceError
from tests.conversations.conftest import SessionApi, call, say, talk

pytestmark = pytest.mark.django_db


@pytest.fixture
def find(session_api):
    """Search every session; return the hits: `find("token", mode="keyword")`."""

    def find(query, api=session_api, path="sessions/search", **fields):
        answer = api.post(path, query=query, **fields)
        assert answer.status_code == 200, answer.json()
        return answer.json()["results"]

    return find


def texts(hits):
    return [hit["content"] for hit in hits]


def keys(hits):
    return [hit["session"] for hit in hits]


@pytest.fixture
def three(session_api):
    """Three sessions that differ in user, channel, agent and time."""
    for key, user, agent, channel, day in (
        ("one", "1", "coder", "cli", 1),
        ("two", "2", "coder", "web", 2),
        ("three", "2", "tester", "cli", 3),
    ):
        session_api.bootstrap(key, user_id=user, agent_id=agent, channel=channel)
        moment = f"2026-03-0{day}T10:00:00Z"
        session_api.append(
            say(f"The harbour of {key} is closed", created_at=moment), key=key
        )
    return session_api


class TestWhatIsFound:
    def test_two_of_three_messages_have_the_word(self, session_api, find):
        session_api.bootstrap()
        session_api.append(
            say("Authentication fails"),
            say("The weather is fine"),
            say("Where is authentication done?"),
        )

        hits = find("authentication", mode="keyword", scope="messages")

        assert sorted(hit["seq"] for hit in hits) == [1, 3]
        assert {hit["source_type"] for hit in hits} == {"message"}

    def test_words_are_found_at_once_and_meaning_after_the_job(
        self, session_api, find, run_jobs
    ):
        session_api.bootstrap()
        session_api.append(say("The harbour crane is broken"))

        assert find("crane", mode="keyword")
        assert find("crane", mode="semantic") == []
        run_jobs()
        (hit,) = find("crane", mode="semantic")
        assert list(hit["lanes"]) == ["semantic"]

    def test_scopes_choose_messages_summaries_or_both(
        self, session_api, find, run_jobs
    ):
        session_api.bootstrap()
        session_api.append(*talk(60))
        session_api.post("sessions/main/compact", mode="incremental")
        run_jobs()

        def kinds(scope):
            hits = find("missing token", scope=scope, limit=100)
            return {hit["source_type"] for hit in hits}

        assert kinds("messages") == {"message"}
        assert kinds("summaries") == {"summary"}
        assert kinds("both") == {"message", "summary"}

    def test_the_input_and_the_result_of_a_tool_are_found_by_their_words(
        self, session_api, find
    ):
        result = {"type": "tool_result", "id": "c1", "content": "error: no ferry"}
        session_api.bootstrap()
        session_api.append(
            call("c1", command="make quay"), {"role": "tool", "parts": [result]}
        )

        assert [hit["seq"] for hit in find("quay", mode="keyword")] == [1]
        assert [hit["seq"] for hit in find("ferry", mode="keyword")] == [2]

    def test_the_result_of_a_tool_is_not_pushed_down_because_it_has_no_vector(
        self, session_api, find, run_jobs
    ):
        found = "error: the ferry to the northern island has no berth"
        result = {"type": "tool_result", "id": "c1", "content": found}
        session_api.bootstrap()
        session_api.append(
            *(say(f"The ferry number {n} is late") for n in range(5)),
            call("c1", command="make quay"),
            {"role": "tool", "parts": [result]},
        )
        run_jobs()

        assert find("ferry northern island berth")[0]["seq"] == 7

    def test_hidden_and_redacted_messages_are_not_found(
        self, session_api, find, run_jobs
    ):
        session_api.bootstrap()
        session_api.append(say("Pier one"), say("Pier two"), say("Pier three"))
        run_jobs()

        session_api.post("sessions/main/messages/1/redact", reason="asked")
        session_api.delete("sessions/main/messages", from_seq=3)

        assert texts(find("pier")) == ["Pier two"]

    def test_no_hit_is_an_empty_answer(self, session_api, find):
        session_api.bootstrap()
        session_api.append(*talk(3))

        assert find("zebrafinch", mode="keyword") == []

    @pytest.mark.parametrize("query", ["?!", "   .", "%"])
    def test_punctuation_alone_finds_nothing_by_words(self, session_api, find, query):
        session_api.bootstrap()
        session_api.append(*talk(3))

        assert find(query, mode="keyword") == []


class TestHowItIsShown:
    def test_the_default_is_twenty_hits_and_zero_means_the_default(
        self, session_api, find
    ):
        session_api.bootstrap()
        session_api.append(*talk(25))

        for fields in ({}, {"limit": 0}):
            hits = find("token", mode="keyword", scope="messages", **fields)
            assert len(hits) == 20

    def test_a_snippet_has_the_words_and_about_500_characters(self, session_api, find):
        session_api.bootstrap()
        session_api.append(say("x " * 300 + "findme" + " y" * 3_000))

        (content,) = texts(find("findme", mode="keyword"))

        assert "findme" in content
        assert len(content) <= 510

    def test_a_hit_brings_its_neighbours_when_asked(self, session_api, find):
        session_api.bootstrap()
        session_api.append(*talk(4), say("The anchor is lost"), *talk(4, start=5))

        (hit,) = find("anchor", mode="keyword", around=2)

        assert [each["seq"] for each in hit["around"]] == [3, 4, 6, 7]
        assert find("anchor", mode="keyword")[0]["around"] == []

    def test_scores_are_between_zero_and_one_best_first(
        self, session_api, find, run_jobs
    ):
        session_api.bootstrap()
        session_api.append(*talk(12), say("A token of gold"))
        run_jobs()

        for mode in ("keyword", "semantic", "hybrid"):
            scores = [hit["score"] for hit in find("token of gold", mode=mode)]
            assert scores == sorted(scores, reverse=True)
            assert all(0 <= score <= 1 for score in scores)

    def test_of_equal_scores_the_newer_comes_first(self, session_api, find):
        for day in (1, 3, 2):
            key = f"s{day}"
            session_api.bootstrap(key)
            moment = f"2026-03-0{day}T10:00:00Z"
            session_api.append(say("Same words", created_at=moment), key=key)

        assert keys(find("same words", mode="keyword")) == ["s3", "s2", "s1"]

    def test_without_the_embedder_the_words_answer_and_a_note_says_so(
        self, session_api, find, run_jobs, monkeypatch
    ):
        session_api.bootstrap()
        session_api.append(say("The harbour crane is broken"))
        run_jobs()

        def fail(self, texts):
            raise InferenceError("The embedder is down.", retryable=True)

        monkeypatch.setattr(type(active_model.get()), "embed", fail)
        answer = session_api.post("sessions/search", query="harbour cranes today")

        assert texts(answer.json()["results"]) == ["The harbour crane is broken"]
        assert answer.json()["notes"]


class TestFilters:
    @pytest.mark.parametrize(
        ("fields", "found"),
        [
            ({}, {"one", "two", "three"}),
            ({"user_id": "2"}, {"two", "three"}),
            ({"user_id": 2, "channel": "cli"}, {"three"}),
            ({"agent_id": "coder"}, {"one", "two"}),
            ({"session": "two"}, {"two"}),
            ({"date_from": "2026-03-02T00:00:00Z"}, {"two", "three"}),
            ({"date_to": "2026-03-02T00:00:00Z"}, {"one"}),
            ({"user_id": "0"}, set()),
            ({"user_id": "nobody"}, set()),
        ],
    )
    def test_each_narrows_the_sessions(self, three, find, run_jobs, fields, found):
        run_jobs()
        for mode in ("keyword", "semantic", "hybrid"):
            assert set(keys(find("harbour closed", mode=mode, **fields))) == found

    def test_one_session_is_searched_alone(self, three, find):
        assert keys(find("harbour", path="sessions/two/search")) == ["two"]

    def test_an_archived_session_is_searched_too(self, three, find):
        three.patch("sessions/one", archived=True)

        assert "one" in keys(find("harbour", mode="keyword"))


class TestWhoFinds:
    def test_a_bound_key_finds_its_own_users_messages_only(
        self, three, find, client_of, project, run_jobs
    ):
        run_jobs()
        own = SessionApi(client_of(project, role=Role.WRITER, user_id="1"), project)

        for mode in ("keyword", "semantic", "hybrid"):
            assert keys(find("harbour", api=own, mode=mode)) == ["one"]
            hidden = find("harbour", api=own, mode=mode, user_id="2")
            assert hidden == []
        answer = own.post("sessions/two/search", query="harbour")
        assert answer.status_code == 404

    def test_a_key_of_another_users_session_finds_ones_own(
        self, session_api, find, client_of, project
    ):
        for user in ("1", "2"):
            session_api.bootstrap("same", user_id=user)
            session_api.post(
                "sessions/same/messages",
                user_id=user,
                messages=[say(f"The harbour of {user}")],
            )
        own = SessionApi(client_of(project, role=Role.WRITER, user_id="2"), project)

        hits = find("harbour", api=own, path="sessions/same/search")
        assert texts(hits) == ["The harbour of 2"]

    def test_a_bound_key_finds_no_summary_of_another_user(
        self, session_api, find, client_of, project, run_jobs
    ):
        session_api.bootstrap(user_id="1")
        session_api.append(*talk(60))
        session_api.post("sessions/main/compact", mode="full")
        run_jobs()
        own = SessionApi(client_of(project, role=Role.WRITER, user_id="2"), project)

        assert find("missing token", scope="summaries")
        assert find("missing token", api=own, scope="summaries") == []

    def test_charlie_finds_nothing(self, three, charlie_api, project):
        answer = charlie_api.post(
            "/api/v1/sessions/search",
            {"project_id": str(project.pk), "query": "harbour"},
            format="json",
        )

        assert answer.status_code == 404


class TestNeighbours:
    def test_a_message_beside_the_answer_gains_and_one_far_away_does_not(self):
        places = [
            PlacedScore("a", 5, 1.0),
            PlacedScore("a", 6, 0.5),
            PlacedScore("b", 9, 0.5),
        ]

        answer, beside, far = add_neighbours(places)

        assert answer > beside > far

    def test_the_parts_are_those_of_the_measurement(self):
        (alone,) = add_neighbours([PlacedScore("a", 5, 1.0)])

        assert alone == pytest.approx((1 + 0.4 / 3) / 1.9)

    def test_no_score_passes_one(self):
        places = [PlacedScore("a", seq, 1.0) for seq in range(1, 8)]

        assert max(add_neighbours(places)) <= 1
        assert add_neighbours([]) == []

    def test_zeros_stay_zeros(self):
        assert add_neighbours([PlacedScore("a", 1, 0.0)]) == [0.0]
