from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from search import snippets
from search.bm25 import Term


def terms(*lexemes):
    return [Term(lexeme, n, df=1, documents=9) for n, lexeme in enumerate(lexemes)]


@pytest.fixture
def extract(db):
    def of(text, *lexemes):
        return snippets.build({1: text}, terms(*lexemes), "english")[1].html

    return of


PIECES = ["page_index", "Pages", "pager", "getPageIndex", "a.b", "x", "-", "("]
# So many stand in one extract, with blanks between; of more, another letter may change
# which are shown.
SHOWN = snippets.LENGTH // (max(map(len, PIECES)) + 1)


class TestMarks:
    @pytest.mark.parametrize(
        ("text", "lexeme", "marked"),
        [
            ("Run migrations", "migrat", "Run <mark>migrations</mark>"),
            ("getUserName()", "user", "get<mark>User</mark>Name()"),
            ("getUserName()", "getusernam", "<mark>getUserName</mark>()"),
            ("page_index", "index", "page_<mark>index</mark>"),
            ("E1101 here", "e1101", "<mark>E1101</mark> here"),
            ("at v1.2.3 now", "v1.2.3", "at <mark>v1.2.3</mark> now"),
            ("移行を", "移行", "<mark>移行</mark>を"),
            ("happy, Happier", "happi", "<mark>happy</mark>, Happier"),
            ("a hop, hoping", "hope", "a hop, <mark>hoping</mark>"),
            ("un e\u0301te\u0301 chaud", "été", "un <mark>été</mark> chaud"),
            ("(src/auth.py)", "auth", "(src/<mark>auth</mark>.py)"),
            ("aaa", "bbb", "aaa"),
        ],
    )
    def test_it_marks_the_words_that_matched(self, extract, text, lexeme, marked):
        assert extract(text, lexeme) == marked

    def test_the_stem_of_a_word_is_asked_for_once(
        self, extract, django_assert_num_queries
    ):
        extract("Run migrations", "migrat")

        with django_assert_num_queries(0):
            assert extract("All migrations ran", "migrat") == (
                "All <mark>migrations</mark> ran"
            )

    def test_the_stems_that_are_remembered_are_bounded(self, extract, monkeypatch):
        monkeypatch.setattr(snippets, "MAX_CACHED_WORDS", 3)
        text = "migrate, migrated, migrates, migrating, migration and migrations"

        for _ in range(2):
            assert extract(text, "migrat").count("<mark>") == 6
            assert extract("migrates", "migrat") == "<mark>migrates</mark>"
        assert len(snippets._stem_cache["english"]) <= 6

    def test_it_marks_overlapping_pairs_as_one(self, extract):
        assert extract("日本語", "日本", "本語") == "<mark>日本語</mark>"

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.lists(st.sampled_from(PIECES), max_size=SHOWN))
    def test_a_letter_of_another_alphabet_changes_no_other_mark(self, db, parts):
        text = " ".join(parts)
        plain, mixed = (
            snippets.build({1: each}, terms("page", "index"), "english")[1].html
            for each in (text, f"{text} é".strip())
        )

        assert mixed == f"{plain} é".strip()

    def test_it_escapes_everything_else(self, extract):
        shown = extract('<script>alert("x")</script> & <mark>', "alert")

        assert shown == (
            "&lt;script&gt;<mark>alert</mark>(&quot;x&quot;)&lt;/script&gt;"
            " &amp; &lt;mark&gt;"
        )


class TestExtract:
    def test_a_short_text_is_shown_whole(self, extract):
        assert extract("one\n\n two", "nothing") == "one two"

    def test_a_text_without_a_match_is_shown_from_its_beginning(self, extract):
        shown = extract("word " * 200, "nothing")

        assert shown.startswith("word word")
        assert shown.endswith("word…")
        assert len(shown) <= snippets.LENGTH + 1

    def test_it_shows_the_stretch_with_most_of_the_query(self, extract):
        text = f"apple {'filler ' * 100} apple pear {'filler ' * 100}"

        shown = extract(text, "appl", "pear")

        assert "<mark>apple</mark> <mark>pear</mark>" in shown
        assert shown.startswith("…filler")
        assert shown.endswith("filler…")

    def test_it_cuts_what_has_no_spaces(self, extract):
        shown = extract("x" * 1_000, "nothing")

        assert shown == "x" * snippets.LENGTH + "…"

    def test_an_empty_text_is_empty(self, extract):
        assert extract("", "word") == ""


class TestAnswers:
    @pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
    def test_every_mode_marks_the_words_of_the_query(self, remember, search, mode):
        remember("Always run migrations before <b>tests</b>")

        (hit,) = search("migration test", mode=mode)

        assert hit.snippet == (
            "Always run <mark>migrations</mark> before "
            "&lt;b&gt;<mark>tests</mark>&lt;/b&gt;"
        )

    def test_a_match_in_the_title_only_shows_the_content(self, remember, search):
        remember("What stands in the content", title="Throttling")

        (hit,) = search("throttling", mode="keyword")

        assert hit.snippet == "What stands in the content"
