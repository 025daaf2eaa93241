from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from common.text.contradiction.disagreement import reason_to_keep_apart

PAIRS = [
    json.loads(line)
    for line in (Path(__file__).parent / "disagreement_pairs.jsonl")
    .read_text()
    .splitlines()
]
CONTRADICTIONS = [pair for pair in PAIRS if not pair["same"]]
PARAPHRASES = [pair for pair in PAIRS if pair["same"]]


def code(a, b):
    reason = reason_to_keep_apart(a, b)
    return reason and reason.partition(": ")[0]


class TestTheLabelledPairs:
    def test_there_are_a_hundred_of_each(self):
        assert (len(CONTRADICTIONS), len(PARAPHRASES)) == (100, 100)

    def test_it_lets_at_most_two_percent_of_the_contradictions_pass(self):
        passed = [
            pair
            for pair in CONTRADICTIONS
            if reason_to_keep_apart(pair["a"], pair["b"]) is None
        ]

        assert len(passed) <= 2, passed

    def test_it_keeps_at_most_five_percent_of_the_paraphrases_apart(self):
        apart = [
            pair for pair in PARAPHRASES if reason_to_keep_apart(pair["a"], pair["b"])
        ]

        assert len(apart) <= 5, apart

    def test_it_does_not_matter_which_text_comes_first(self):
        for pair in PAIRS:
            there = reason_to_keep_apart(pair["a"], pair["b"])
            back = reason_to_keep_apart(pair["b"], pair["a"])

            assert (there is None) == (back is None), pair


class TestCodes:
    @pytest.mark.parametrize(
        ("expected", "a", "b"),
        [
            ("number", "Retry 3 times.", "Retry five times."),
            ("number", "Wait 30 seconds.", "Wait 30 minutes."),
            ("number", "100 requests per minute", "100 requests per second"),
            ("identifier", "See src/auth.py.", "See src/user.py."),
            ("identifier", "Needs v1.2.3.", "Needs v1.2.4."),
            ("identifier", "Call fetch_all first.", "Call it first."),
            ("quoted", 'The state is "ready now".', 'The state is "gone now".'),
            ("negation", "The cache is shared.", "The cache is not shared."),
            ("negation", "Use tabs, not spaces.", "Use spaces, not tabs."),
            ("antonym", "Enable the cache.", "Disable the cache."),
            ("antonym", "The id is valid.", "The id is invalid."),
            ("order", "Add it before use.", "Add it after use."),
            ("quantifier", "All tests passed.", "Some tests passed."),
            ("quantifier", "Only admins may read.", "Admins may read."),
            ("name", "Deploy with Helm charts.", "Deploy with Kustomize charts."),
            ("order", "The client calls the server.", "The server calls the client."),
            (
                "order",
                "Use httpx instead of requests.",
                "Use requests instead of httpx.",
            ),
            ("order", "Lint before you test.", "Before you lint, test."),
            ("order", "Lint, then test.", "Test, then lint."),
            ("order", "Lint the code. Then test it.", "Test the code, then lint it."),
            ("unit", "The delay is in seconds.", "The delay is in milliseconds."),
            ("antonym", "It was overestimated.", "It was underestimated."),
            ("antonym", "Turn the light on.", "Turn the light off."),
            ("antonym", "Ids are strings.", "Ids are integers."),
            ("quantifier", "Alert if any node fails.", "Alert if all nodes fail."),
            ("quantifier", "Not all tests passed.", "All tests passed."),
            ("quantifier", "Needs x >= 3.", "Needs x <= 3."),
        ],
    )
    def test_it_names_the_kind_of_disagreement(self, expected, a, b):
        assert code(a, b) == expected

    def test_it_says_what_differs(self):
        assert (
            reason_to_keep_apart("Wait 30 s.", "Wait 2 min.") == "number: 30 s / 120 s"
        )
        assert reason_to_keep_apart("It runs.", "It never runs.") == (
            'negation: only one side says "never"'
        )


class TestAgreement:
    @pytest.mark.parametrize(
        ("a", "b"),
        [
            ("Same text.", "same   TEXT."),
            ("Wait 60 seconds.", "Wait one minute."),
            ("It is not enabled.", "It is disabled."),
            ("Never disable the cache.", "Always enable the cache."),
            ("The log must be non-empty.", "The log must not be empty."),
            ("Don't use threads.", "Do not use threads."),
            ("A man waits.", "One man waits."),
            ("The server is called by the client.", "The client calls the server."),
            ("Test after you lint.", "Lint before you test."),
            ("Lint before testing.", "Before testing, lint."),
            ("The file has 2 GB.", "The file has 2048 MB."),
            ("In tests, use mocks for calls.", "For calls, use mocks in tests."),
            ("Lint, then test.", "Test after you lint."),
            ("Write it down and leave.", "Leave after you write it down."),
            ("Use tabs, not spaces.", "Use tabs instead of spaces."),
            ("Remember to lint.", "Don't forget to lint."),
            ("It runs once a day.", "It runs daily."),
            ("It took half a minute.", "It took 30 seconds."),
            ("It has twenty-four rows.", "It has 24 rows."),
            ("The type and the size count.", "The size and the type count."),
            ("A pair of tests failed.", "Two tests failed."),
            ("Nobody but admins may read.", "Only admins may read."),
            ("", ""),
        ],
    )
    def test_it_finds_no_reason(self, a, b):
        assert reason_to_keep_apart(a, b) is None


class TestSpeed:
    @pytest.mark.parametrize(
        ("unit_a", "unit_b"),
        [("a b c ", "c b a "), ("is by ", "is by x "), ("1 ", "2 "), ("n't ", "xn't ")],
    )
    def test_it_stays_linear_on_texts_of_the_longest_length(self, unit_a, unit_b):
        started = time.perf_counter()

        reason_to_keep_apart((unit_a * 50_000)[:50_000], (unit_b * 50_000)[:50_000])

        # About half a second when linear.
        assert time.perf_counter() - started < 10
