"""What people type, and what they expect to find."""

from __future__ import annotations

import threading

import pytest
from django.db import connection

from common.caller import SYSTEM
from inference.embedding import active_model, fake
from memories.queries import Filters
from memories.read import search
from memories.store.drafts import FileRef
from projects import project_lookup
from search.search import EmbeddingsUnavailable

MODES = ["keyword", "semantic", "hybrid"]
OPERATORS = {"syntax": "operators"}
NEITHER = "Celery beat sends what waits every ten seconds"
URL = "/api/v1/search"


@pytest.fixture
def embedded(monkeypatch):
    """Set when the model is given a text that it does not remember."""
    begun, embed = threading.Event(), fake.FakeEmbedder.embed

    def noted(self, texts):
        begun.set()
        return embed(self, texts)

    active_model.forget_queries()
    monkeypatch.setattr(fake.FakeEmbedder, "embed", noted)
    return begun


@pytest.fixture
def embedded_texts(monkeypatch):
    """The texts that the model is given."""
    given, embed = [], fake.FakeEmbedder.embed

    def noted(self, texts):
        given.extend(texts)
        return embed(self, texts)

    active_model.forget_queries()
    monkeypatch.setattr(fake.FakeEmbedder, "embed", noted)
    return given


class TestIdentifiers:
    @pytest.mark.parametrize(
        ("content", "query"),
        [
            ("Call getUserName before the form is shown", "user name"),
            ("Call getUserName before the form is shown", "getUserName"),
            ("Call getUserName before the form is shown", "getusername"),
            ("The default engine is SQLite here", "sqlite"),
            ("page_index starts at one", "page index"),
            ("page_index starts at one", "page_index"),
            ("Rate limits live in src/auth/limits.py", "limits"),
            ("Rate limits live in src/auth/limits.py", "src/auth/limits.py"),
            ("pylint reports E1101 on models", "E1101"),
            ("pylint reports E1101 on models", "e1101"),
            ("Pin the driver to v3.2.1 for now", "v3.2.1"),
            ("git push --force-with-lease is safe", "--force-with-lease"),
            ("A Map<String> loses its order", "string"),
            ("A time-sharing system of 1965", "time sharing"),
            ("移行を実行してからテストする", "移行"),
            ("The café serves naïve answers", "café"),
        ],
    )
    def test_keyword_search_finds_them(self, remember, contents, content, query):
        remember(NEITHER)
        remember(content)

        assert contents(query, mode="keyword") == [content]


class TestIdentifiersOfStopWords:
    """`no` and `on` are no lexemes: alone, the other part would be any `cached`."""

    @pytest.fixture(autouse=True)
    def _memories(self, remember):
        self.cached = "Redis keeps every page cached while a row is deleted"
        self.flagged = "Redis was started with no_cache and on_delete of the row"
        remember(self.cached)
        remember(self.flagged)

    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize("name", ["no_cache", "on_delete", "NO_CACHE"])
    def test_it_is_asked_for_and_left_out_whole(self, contents, mode, name):
        assert contents(f'redis "{name}"', mode=mode, **OPERATORS) == [self.flagged]
        assert contents(f'redis "{name}()"', mode=mode, **OPERATORS) == [self.flagged]
        assert contents(f"redis -{name.lower()}", mode=mode, **OPERATORS) == [
            self.cached
        ]

    @pytest.mark.parametrize("mode", MODES)
    def test_one_with_words_enough_is_found_within_a_longer_one(
        self, remember, contents, mode
    ):
        remember("Redis waits: run tests/test_jobs.py::test_it_retries_once for it")
        remember("Redis is set up in /repo/src/in/auth.py by hand")

        assert (
            len(contents('redis "test_it_retries_once"', mode=mode, **OPERATORS)) == 1
        )
        assert len(contents('redis "src/in/auth.py"', mode=mode, **OPERATORS)) == 1

    @pytest.mark.parametrize("mode", MODES)
    def test_the_parts_of_any_other_stand_side_by_side(self, remember, contents, mode):
        remember("Redis is set up in src/auth.py by the user_id")

        for name in ('"auth.py"', '"src/auth"', '"user id"', '"user_id"'):
            assert len(contents(f"redis {name}", mode=mode, **OPERATORS)) == 1
        assert len(contents("redis -user_id", mode=mode, **OPERATORS)) == 2

    def test_a_dash_within_quotes_is_a_character(self, remember, contents):
        remember("Redis takes the flag -name for its instance")

        assert len(contents('redis "-name"', mode="keyword", **OPERATORS)) == 1


class TestPhrases:
    @pytest.fixture(autouse=True)
    def _memories(self, remember):
        self.phrase = "The cursor skipped one page of results"
        self.words = "One page skipped the cursor by far"
        remember(self.words)
        remember(self.phrase)
        remember(NEITHER)

    @pytest.mark.parametrize("mode", MODES)
    def test_a_quoted_phrase_must_stand_as_written(self, contents, mode):
        assert contents('"one page" "cursor skipped"', mode=mode, **OPERATORS) == [
            self.phrase
        ]

    @pytest.mark.parametrize("mode", MODES)
    def test_a_word_with_a_minus_must_not_stand(self, contents, mode):
        found = contents("cursor page -far", mode=mode, **OPERATORS)

        assert self.phrase in found
        assert self.words not in found

    @pytest.mark.parametrize(
        "name", ["HTTP", "http,", "v1.2.3", "src/auth.py", "user-agent", "MÜLLER"]
    )
    def test_a_name_with_a_minus_must_not_stand(self, remember, contents, name):
        remember(f"The cursor knows {name.strip(',')} by heart")

        found = contents(f"cursor -{name}", mode="keyword", **OPERATORS)

        assert sorted(found) == [self.words, self.phrase]

    @pytest.mark.parametrize("mode", MODES)
    def test_a_phrase_with_a_minus_must_not_stand(self, contents, mode):
        found = contents('cursor -"cursor skipped"', mode=mode, **OPERATORS)

        assert self.words in found
        assert self.phrase not in found

    @pytest.mark.parametrize("mode", MODES)
    def test_a_phrase_that_stands_nowhere_finds_nothing(self, contents, mode):
        assert contents('"page cursor"', mode=mode, **OPERATORS) == []

    @pytest.mark.parametrize("mode", ["semantic", "hybrid"])
    def test_a_phrase_of_stop_words_asks_for_nothing(self, contents, mode):
        assert len(contents('cursor "of the"', mode=mode, **OPERATORS)) == 3

    def test_prose_may_quote_and_dash(self, contents):
        prose = 'the cursor -far says "no such thing" and I wonder what it may be'

        assert self.words in contents(prose, **OPERATORS)

    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize(
        "query", ['"page cursor" by', "cursor page -far", '-"cursor skipped" page']
    )
    def test_quotes_and_dashes_of_plain_text_leave_no_row_out(
        self, contents, query, mode
    ):
        words = query.replace('"', "").replace("-", "")

        assert set(contents(query, mode=mode)) == set(contents(words, mode=mode))
        assert len(contents(query, mode=mode)) >= 2

    def test_plain_text_is_embedded_without_its_signs(self, contents, embedded_texts):
        contents('Handle "fatal" -error')

        assert embedded_texts == ["Handle fatal error"]

    def test_operators_are_not_embedded(self, contents, embedded_texts):
        contents('Handle "fatal" -error', **OPERATORS)

        assert embedded_texts == ["Handle fatal"]

    @pytest.mark.parametrize("mode", MODES)
    def test_notes_say_how_many_rows_the_operators_left_out(self, project, mode):
        request = search.MemorySearch("cursor -far", mode=mode, syntax="operators")

        (note,) = search.find(project, request, SYSTEM).notes

        assert note.startswith("The operators left out 1 of the ")

    @pytest.mark.parametrize("query", ["cursor -submarine", "cursor"])
    def test_notes_are_empty_when_the_operators_left_out_nothing(self, project, query):
        request = search.MemorySearch(query, mode="keyword", syntax="operators")

        assert search.find(project, request, SYSTEM).notes == ()

    def test_notes_say_nothing_of_quotes_in_plain_text(self, project):
        request = search.MemorySearch('"page cursor"', mode="keyword")

        assert search.find(project, request, SYSTEM).notes == ()


class TestGoalAndResult:
    @pytest.mark.parametrize("query", ["log", "pass", '"log in"'])
    def test_they_are_found_where_the_content_has_them_in_longer_words(
        self, remember, contents, query
    ):
        content = "Set the password policy of the catalog in place"
        remember(content, goal="log in", result="pass")

        assert contents(query, mode="keyword") == [content]

    @pytest.mark.parametrize("repeated", ["log in.", "getUserName", "日本語"])
    def test_what_the_content_repeats_counts_once(self, remember, search, repeated):
        remember(f"Whoever may not {repeated} waits")
        remember(f"Nobody who may {repeated} waits", goal=repeated)

        one, other = search(repeated, mode="keyword")

        assert one.score == other.score


class TestLongTexts:
    @pytest.mark.parametrize(
        "text",
        [
            "\n".join(
                f"at org.apache.hdfs.FSNamesystem.getBlockLocations{n}"
                f"(FSNamesystem.java:{1000 + n})"
                for n in range(800)
            ),
            "".join(chr(0x4E00 + n * n % 97) for n in range(50_000)),
            " ".join(f"aB{n}cDeF" for n in range(6_000)),
        ],
        ids=["trace", "chinese", "camelCase"],
    )
    def test_the_last_word_of_the_longest_content_is_found(
        self, remember, contents, text
    ):
        remember(text[:49_900] + "\nCaused by: walrus")

        assert len(contents("walrus", mode="keyword")) == 1


class TestOrder:
    def test_a_word_of_the_title_counts_more_than_one_of_the_content(
        self, remember, contents
    ):
        remember("Keys wait for throttling to end", title="Redis")
        remember("Requests over a limit are refused", title="Throttling")

        assert contents("throttling", mode="keyword") == [
            "Requests over a limit are refused",
            "Keys wait for throttling to end",
        ]

    def test_equal_scores_come_newest_first(self, remember, search):
        made = [remember(f"Equal words number{n}") for n in range(3)]

        hits = search("equal words", mode="keyword")

        assert [hit.memory for hit in hits] == made[::-1]
        assert len({hit.score for hit in hits}) == 1

    def test_a_rare_word_counts_more_than_a_common_one(self, remember, contents, count):
        for n in range(8):
            remember(f"The worker took task number{n}")
        remember("The keeper took task ninety")
        count()

        assert contents("worker keeper", mode="keyword")[0] == (
            "The keeper took task ninety"
        )


class TestScores:
    def test_they_fall_and_stay_between_0_and_1(self, remember, search):
        for n in range(5):
            remember("migrations " * (n + 1) + f"run before test{n}")

        for mode in MODES:
            scores = [hit.score for hit in search("run migrations", mode=mode)]
            assert scores == sorted(scores, reverse=True)
            assert all(0 <= score <= 1 for score in scores)

    def test_min_score_empties_a_hopeless_answer(self, remember, contents):
        remember("The cursor is off by one page")

        assert contents("cursor page", min_score=0.25)
        assert contents("kubernetes billing", min_score=0.25) == []

    def test_two_good_answers_of_two_both_keep_their_score(self, remember, search):
        remember("Rotate the signing key every month")
        remember("Rotate the signing key every year or so")

        scores = [hit.score for hit in search("rotate the signing key")]

        assert min(scores) > 0.8 * max(scores)


class TestLanes:
    def test_semantic_search_does_without_words_in_common(self, remember, search):
        remember(NEITHER)

        (hit,) = search("unrelated", mode="semantic")

        assert set(hit.lanes) == {"semantic"}

    def test_hybrid_search_goes_on_without_the_model(self, remember, project, alice):
        remember(NEITHER)

        with fake.outage():
            answer = search.find(project, search.MemorySearch("celery beat"), alice)

        assert [hit.memory.content for hit in answer.hits] == [NEITHER]
        assert "keyword lane only" in answer.notes[0]

    def test_semantic_search_says_that_the_model_is_down(self, remember, search):
        with fake.outage(), pytest.raises(EmbeddingsUnavailable):
            search("celery beat", mode="semantic")

    def test_the_model_works_while_the_project_is_looked_up(
        self, remember, project, alice_api, embedded
    ):
        remember(NEITHER)
        embedded.clear()

        def wait(execute, sql, *rest):
            if sql == project_lookup.FIND_SQL.format(column="name"):
                assert embedded.wait(10)
            return execute(sql, *rest)

        with connection.execute_wrapper(wait):
            answer = alice_api.post(URL, {"project_id": project.name, "query": "beat"})

        assert [hit["memory"]["content"] for hit in answer.json()["hits"]] == [NEITHER]

    def test_the_model_does_not_work_for_strangers(self, project, client_of, embedded):
        stranger = client_of(project)
        stranger.credentials(HTTP_AUTHORIZATION="Bearer am_unknown")

        answer = stranger.post(URL, {"project_id": project.name, "query": "beat"})

        assert answer.status_code == 401
        assert not embedded.is_set()

    def test_a_row_without_a_vector_is_found_by_its_words(self, remember, contents):
        remember("Celery acknowledges early")
        with fake.outage():
            remember(NEITHER)

        assert NEITHER in contents("celery beat")

    def test_filters_hold_in_both_lanes(self, remember, contents):
        remember("Celery with a tag", tags=("wanted",))
        remember("Celery without a tag")

        for mode in MODES:
            found = contents("celery", mode=mode, filters=Filters(tags=("wanted",)))
            assert found == ["Celery with a tag"]


def test_it_searches_only_the_project_it_is_asked_for(
    remember, contents, other_project
):
    remember("A secret of Charlie about celery", where=other_project)

    for mode in MODES:
        assert contents("celery secret", mode=mode) == []


def test_a_search_takes_six_statements_at_most(
    remember, search, django_assert_max_num_queries
):
    for n in range(5):
        remember(f"The worker took task{n} from the table")

    with django_assert_max_num_queries(6):
        search("worker table")


def test_links_of_a_hit_that_are_narrowed_further_are_still_its_own(remember, search):
    for name in ("worker", "keeper"):
        remember(f"The {name} is here", files=(FileRef(f"src/{name}.py"),))

    hits = search("worker keeper")

    asked_again = {
        hit.memory.content: [
            link.file.file_path for link in hit.memory.file_links.select_related("file")
        ]
        for hit in hits
    }
    assert asked_again == {
        "The worker is here": ["src/worker.py"],
        "The keeper is here": ["src/keeper.py"],
    }
