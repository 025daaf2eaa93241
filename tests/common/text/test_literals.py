from __future__ import annotations

import time

import pytest

from common.text import literals

TERMS = [
    "page_index",
    "__init__",
    "_private",
    "camelCase",
    "PascalCase",
    "SQLite",
    "os.path.join",
    "package.json",
    ".env",
    "src/auth.py",
    "/etc/hosts",
    "../lib",
    "handlers/",
    "application/json",
    r"C:\Users\alice",
    "E1101",
    "CVE-2024-3094",
    "utf-8",
    "HTTP/2",
    "1.2.3",
    "v10.13.1",
    "3.14rc1",
    "10.0.0.1",
    "2026-01-31",
    "--no-cache",
    "-x",
    "DJANGO_SETTINGS_MODULE",
    "$HOME",
    "@pytest.fixture",
    "std::vec",
    "Class#method",
    "C++",
    "4a58db1",
    "123e4567-e89b-12d3-a456-426614174000",
    "https://example.org/a?b=c#d",
    "alice@example.org",
]


class TestIdentifiers:
    def test_it_keeps_a_code_term_whole(self):
        wrong = [
            sentence.format(term)
            for sentence in ("Use {} here.", "Use `{}`, please", "({}).", "{}")
            for term in TERMS
            if literals.find_identifiers(sentence.format(term)) != [term]
        ]

        assert not wrong

    @pytest.mark.parametrize(
        "prose",
        [
            "Always run the tests, e.g. before a release.",
            "The client/server split and/or the real-time part at 5 p.m.",
            "All APIs, URLs and IDs: 42 of 3.5 million -- done!",
            "He said: use it. Then stop...",
            "<b>bold</b> and _emphasis_",
        ],
    )
    def test_it_finds_none_in_prose(self, prose):
        assert literals.find_identifiers(prose) == []

    def test_it_leaves_the_line_number_of_a_path_out(self):
        assert literals.find_identifiers("at src/auth.py:42: failed") == ["src/auth.py"]

    def test_it_takes_the_name_of_a_call(self):
        assert literals.find_identifiers("then run() and run again") == ["run"]

    def test_it_lists_each_once_in_order_of_appearance(self):
        assert literals.find_identifiers("b_c, a_b, b_c") == ["b_c", "a_b"]


class TestLiterals:
    def test_it_collects_numbers_names_and_quoted_text(self):
        found = literals.find_literals(
            'Wait 30 s, then set MAX_SIZE to "two words" or `x y`.'
        )

        assert found == {"30", "MAX_SIZE", "two words", "x y"}

    @pytest.mark.parametrize(
        ("sentence", "number"),
        [("1,000 rows", "1000"), ("2.5% of it", "2.5"), ("after 10ms", "10")],
    )
    def test_it_reads_numbers(self, sentence, number):
        assert literals.find_literals(sentence) == {number}

    def test_a_version_is_one_literal_not_three_numbers(self):
        assert literals.find_literals("needs 1.2.3 now") == {"1.2.3"}

    def test_an_apostrophe_opens_no_quotation(self):
        assert literals.find_literals("don't drop the user's rows") == set()


class TestSpeed:
    @pytest.mark.parametrize(
        "unit", ["a", "a/", "a.", "1,", "'a ", "`", "a_b ", "a://", "A1-", "_" * 250]
    )
    def test_it_stays_linear_on_hostile_repetition(self, unit):
        hostile = (unit * (2**18 // len(unit)))[: 2**18]

        started = time.perf_counter()
        literals.find_literals(hostile)

        # Linear takes under a second for 256 KiB; quadratic takes minutes.
        assert time.perf_counter() - started < 10
