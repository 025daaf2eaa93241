from __future__ import annotations

import math

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from memories.models import Memory
from memories.queries import Filters
from search import bm25, parse_query, postings, semantic
from search.bm25 import Term
from search.columns import TIERS, lexeme_in_partition, partition_lexeme
from search.parse_query import ParsedQuery


class TestPlainText:
    @pytest.mark.parametrize(
        "typed", ['Handle "fatal" -error', '-"off by one" index', "redis -celery", "-x"]
    )
    def test_it_is_left_as_it_is(self, typed):
        assert parse_query.parse(typed, "plain") == ParsedQuery(typed)


class TestTheEmbeddedText:
    @pytest.mark.parametrize(
        ("typed", "embedded"),
        [
            ('Handle "fatal" error -- now', "Handle fatal error now"),
            ("KeyError: 'user_id' in src/auth.py", "KeyError: user_id in src/auth.py"),
            ("print(f[`a`])", "print f a"),
            ("plain words", "plain words"),
            ("--", "--"),
        ],
    )
    def test_it_has_no_quotes_dashes_and_brackets(self, typed, embedded):
        assert parse_query.parse(typed, "plain").embedded == embedded


class TestParse:
    @pytest.mark.parametrize(
        ("typed", "parsed"),
        [
            ("plain words", ParsedQuery("plain words")),
            (
                'say "off by one" again',
                ParsedQuery("say off by one again", ("off by one",)),
            ),
            ("redis -celery", ParsedQuery("redis  ", (), ("celery",))),
            ('-"off by one" index', ParsedQuery("  index", (), ("off by one",))),
            (
                "cache -redis2 -in_memory",
                ParsedQuery("cache    ", (), ("redis2", "in_memory")),
            ),
            (
                "timeout -HTTP -MÜLLER",
                ParsedQuery("timeout    ", (), ("HTTP", "MÜLLER")),
            ),
            ("timeout -http, -grpc.", ParsedQuery("timeout    ", (), ("http", "grpc"))),
            ("timeout -src/auth.py", ParsedQuery("timeout  ", (), ("src/auth.py",))),
            ("timeout -v1.2.3", ParsedQuery("timeout  ", (), ("v1.2.3",))),
            ("timeout -1.2.3", ParsedQuery("timeout  ", (), ("1.2.3",))),
            ("header -user-agent", ParsedQuery("header  ", (), ("user-agent",))),
            ("header -X-Real-IP", ParsedQuery("header  ", (), ("X-Real-IP",))),
            (
                'Who said "off by one"?',
                ParsedQuery("Who said off by one?", ("off by one",)),
            ),
            ('find "-name"', ParsedQuery("find -name", ("-name",))),
            ('"git push -force"', ParsedQuery("git push -force", ("git push -force",))),
        ],
    )
    def test_it_takes_out_phrases_and_excluded_words(self, typed, parsed):
        assert parse_query.parse(typed, "operators") == parsed

    @pytest.mark.parametrize(
        "typed",
        [
            "ls -la",
            "ls -la, then",
            "git commit -m",
            "mvn -DskipTests",
            "mvn -Dmaven.test.skip=true",
            "gcc -I/usr/include -O2 -std=c++17",
            "pip --force",
            "pip --no-cache-dir",
            "add -3.5",
            "utf-8",
            "a - b",
            "a -... b",
        ],
    )
    def test_it_takes_no_flag_or_hyphen_for_an_exclusion(self, typed):
        assert parse_query.parse(typed, "operators") == ParsedQuery(typed)

    @pytest.mark.parametrize("typed", ["-redis", '-"off by one"', "   ", ""])
    def test_it_reads_a_query_of_exclusions_only_as_words(self, typed):
        assert parse_query.parse(typed, "operators") == ParsedQuery(typed)

    @pytest.mark.parametrize(
        "typed",
        [
            'get_user {"user_id": "mia"}',
            'open("a b.txt")',
            'name="off by one" index',
            '["red", "green"]',
        ],
    )
    def test_it_takes_the_quotes_of_code_for_characters(self, typed):
        assert parse_query.parse(typed, "operators") == ParsedQuery(typed)

    def test_it_reads_prose_as_words(self):
        typed = 'Articles on text formatting systems, including "what you see" -systems, in C'

        assert parse_query.parse(typed, "operators") == ParsedQuery(typed)

    def test_more_operators_than_anybody_types_are_words(self):
        typed = '"a" ' * parse_query.MAX_OPERATORS

        assert (
            len(parse_query.parse(typed, "operators").phrases)
            == parse_query.MAX_OPERATORS
        )
        assert parse_query.parse(typed + '"b"', "operators") == ParsedQuery(
            typed + '"b"'
        )

    def test_a_long_phrase_is_no_prose(self):
        phrase = "one two three four five six seven eight nine ten"

        assert parse_query.parse(f'"{phrase}"', "operators").phrases == (phrase,)

    @pytest.mark.parametrize("typed", ['"', '""', '"unclosed', 'a"b'])
    def test_it_takes_a_lone_quote_for_a_character(self, typed):
        assert parse_query.parse(typed, "operators").phrases == ()


class TestCondition:
    def test_it_asks_for_nothing_without_phrases(self):
        assert (
            parse_query.build_condition(ParsedQuery("plain words"), "english") is None
        )

    def test_it_asks_for_nothing_when_a_phrase_is_stop_words_only(self, db):
        assert (
            parse_query.build_condition(
                ParsedQuery("the of", ("the of",), ("to",)), "english"
            )
            is None
        )


class TestTerms:
    def test_it_counts_what_a_query_repeats(self, project):
        terms = bm25.look_up_terms(
            "cat cats dog", project_id=project.pk, corpus="memories", language="english"
        ).terms

        assert {term.lexeme: term.count for term in terms} == {"cat": 2, "dog": 1}

    def test_it_weighs_a_repeated_lexeme_more_but_never_in_proportion(self):
        once, ten = (Term("a", 1, 1, 10, count=n) for n in (1, 10))

        assert once.weight == once.idf
        assert once.weight < ten.weight < 10 * once.weight

    def test_it_keeps_the_rarest_lexemes_of_a_long_query(self, project):
        long = " ".join(f"word{n}" for n in range(1_000))

        terms = bm25.look_up_terms(
            long, project_id=project.pk, corpus="memories", language="english"
        ).terms

        assert len(terms) == bm25.MAX_TERMS

    def test_it_finds_no_lexeme_in_stop_words(self, project):
        asked = {"project_id": project.pk, "corpus": "memories", "language": "english"}

        assert bm25.look_up_terms("the of", **asked).terms == []
        assert bm25.look_up_terms("the of", **asked, extra=("SELECT %s", [7])) == (
            [],
            7,
        )


class TestIdf:
    def test_it_is_larger_for_rarer_lexemes_and_never_negative(self):
        values = [bm25.idf(df, 100) for df in (1, 10, 50, 100)]

        assert values == sorted(values, reverse=True)
        assert values[-1] > 0
        assert values[0] == pytest.approx(math.log(1 + 99.5 / 1.5))


DOCUMENTS = 100_000


def term(lexeme, df, *tiers):
    return Term(lexeme, 1, df, DOCUMENTS, tiers=tiers)


def build_query(*found, held=(), most=1_000):
    """The postings that are asked for, and whether they are all rows of a lexeme."""
    tsquery, _, is_all = postings.build_candidate_query(found, ["p:1"], held, most)
    lexemes = [tier + each.lexeme for each in found for tier in ("", *TIERS)]
    for lexeme in (*lexemes, *held):
        tsquery = tsquery.replace(f"'{lexeme_in_partition('p:1', lexeme)}'", lexeme)
    tsquery, _, rest = tsquery.removeprefix("(").partition("))")
    assert rest == "".join(f" & {lexeme}" for lexeme in held)
    return {part.strip("()") for part in tsquery.split(" | ")}, is_all


class TestCandidates:
    def test_all_rows_are_asked_where_they_are_few(self):
        found = [term("a", 5), term("b", 600, 90, 20)]

        assert build_query(*found) == ({"a", "b"}, True)
        assert build_query(*found, held=("b", "c")) == ({"a", "b"}, True)

    def test_it_always_takes_one(self):
        assert build_query(term("a", 90_000)) == ({"a"}, True)

    def test_of_a_lexeme_without_room_the_best_rows_are_taken(self):
        found = [term("a", 400, 30, 10), term("b", 4_000, 2_500, 300)]

        assert build_query(*found) == ({"a", "⇈b"}, False)
        assert build_query(term("a", 90_000, 9_000, 7_000)) == ({"⇈a"}, False)

    def test_common_lexemes_are_asked_together(self):
        two = [term("a", 4_000), term("b", 5_000)]

        assert build_query(*two) == ({"a & b"}, False)
        assert build_query(*two, term("c", 6_000)) == ({"a & b", "a & c"}, False)

    def test_the_more_common_they_are_the_more_of_them(self):
        three = [term("a", 9_000), term("b", 10_000), term("c", 11_000)]

        assert build_query(*three) == ({"a & b & c"}, False)

    def test_a_part_of_an_identifier_stands_wherever_the_whole_does(self):
        found = [term("getusernam", 3_000), term("user", 9_000)]

        assert build_query(*found) == ({"getusernam"}, False)

    def test_a_lexeme_without_room_is_taken_while_there_are_few_rows(self):
        assert build_query(term("a", 30), term("b", 9_000)) == ({"a", "b"}, True)

    def test_tiers_that_were_not_counted_are_not_asked(self):
        found = [term("a", 9_000, None, None), term("b", 9_500, 1_999, 500)]

        assert build_query(*found) == ({"⇈b"}, False)

    @given(
        st.lists(
            st.builds(
                lambda df, share: (df, df // share, df // share // 2),
                st.integers(1, DOCUMENTS),
                st.integers(2, 50),
            ),
            min_size=1,
            max_size=bm25.MAX_TERMS,
        )
    )
    def test_it_asks_for_something_always_and_without_a_limit_for_all(self, rows):
        found = [term(f"t{n}", *counted) for n, counted in enumerate(sorted(rows))]

        some, _ = build_query(*found)
        everything, is_all = build_query(*found, most=math.inf)

        assert all(some)
        assert everything == {each.lexeme for each in found}
        assert is_all

    def test_tiers_are_counted_with_the_lexeme(self, remember, count, terms_of):
        remember("pear pear pear in the harbour")
        remember("pear " + " ".join(f"word{n}" for n in range(40)))
        remember("An engine ran on pear pear pear")
        count()

        (pear,) = terms_of("pear")

        assert (pear.df, pear.tiers) == (3, (2, 2))
        assert terms_of("quince")[0].tiers == (None, None)

    def test_the_longest_word_that_postgresql_keeps_can_be_read_back(self, remember):
        memory = remember("a" * 2_046 + " broke the deploy")

        with connection.cursor() as cursor:
            table = Memory._meta.db_table
            cursor.execute(
                f"SELECT content_tsv::text::tsvector = content_tsv FROM {table}"
                " WHERE id = %s",
                [memory.pk],
            )
            assert cursor.fetchone() == (True,)

    @pytest.fixture
    def _crowded(self, remember, count, monkeypatch):
        """Eight rows hold a lexeme, two of them much of it; there is room for three."""
        for n in range(6):
            text = f"pear {n} " + " ".join(f"word{n}x{m}" for m in range(40))
            remember(text, tags=("odd",) * (n % 2))
        for n in range(2):
            remember(f"pear pear pear number {n}")
        count()
        monkeypatch.setattr(postings, "CANDIDATE_ROWS", 3)
        monkeypatch.setattr(postings, "MIN_ROWS", 2)

    def test_the_best_rows_of_a_common_lexeme_are_found_without_the_others(
        self, _crowded, contents, project, monkeypatch
    ):
        monkeypatch.setattr(semantic, "DEPTH", 2)

        with CaptureQueriesContext(connection) as statements:
            found = contents("pear", mode="keyword")

        assert sorted(found) == [f"pear pear pear number {n}" for n in range(2)]
        (lane,) = (each["sql"] for each in statements if "<#>" in each["sql"])
        assert lexeme_in_partition(partition_lexeme("p", project.pk), "↑pear") in lane

    def test_more_are_asked_until_enough_pass(
        self, _crowded, contents, project, monkeypatch
    ):
        monkeypatch.setattr(semantic, "DEPTH", 4)

        with CaptureQueriesContext(connection) as statements:
            contents("pear", mode="keyword")

        first, second = (each["sql"] for each in statements if "<#>" in each["sql"])
        arm = partition_lexeme("p", project.pk)
        assert lexeme_in_partition(arm, "↑pear") in first
        assert lexeme_in_partition(arm, "pear") not in first
        assert lexeme_in_partition(arm, "pear") in second

    def test_no_hit_is_lost_where_the_filters_leave_few(self, _crowded, search):
        tagged = search("pear", mode="keyword", filters=Filters(tags=("odd",)))

        assert len(tagged) == 3
        assert len(search("pear", mode="keyword")) == 8

    @pytest.mark.parametrize("most", [100, 6, 2, 1])
    def test_a_limit_loses_no_hit_while_there_are_few(
        self, remember, count, search, monkeypatch, most
    ):
        for n in range(6):
            remember(f"apple {'pear' * (n < 4)} {'cherry' * (n < 2)} of {n}")
        count()
        monkeypatch.setattr(postings, "CANDIDATE_ROWS", most)

        assert len(search("apple pear cherry", mode="keyword")) == 6

    @pytest.mark.parametrize("typed", ["it's", "a\\b", "o'neil\\'", "'"])
    def test_it_takes_no_word_for_syntax(self, remember, search, typed):
        remember(f"Say {typed} to the anchor")

        assert len(search(f"{typed} anchor", mode="keyword")) == 1
