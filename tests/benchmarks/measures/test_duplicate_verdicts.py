from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from benchmarks.datasets import labelled_pairs
from benchmarks.datasets.labelled_pairs import TextPair
from benchmarks.measures import duplicate_verdicts
from benchmarks.measures.duplicate_verdicts import ScoredPair

LABELLED = [
    {"a": "Run the tests.", "b": "run  the TESTS.", "entail": "ENTAILMENT"},
    {"a": "Wait 30 seconds.", "b": "Wait 60 seconds.", "entail": "CONTRADICTION"},
    {"a": "Run the tests.", "b": "Buy a boat today.", "entail": "NEUTRAL"},
]
SCORED = [
    {"a": "Run the tests.", "b": "Run the tests.", "score": 5.0},
    {"a": "Run the tests.", "b": "Buy a boat today.", "score": 0.5},
]


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "dedup"
    folder.mkdir()
    for name, rows in (("labelled", LABELLED), ("scored", SCORED)):
        lines = "\n".join(json.dumps(row) for row in rows)
        (folder / f"{name}.jsonl").write_text(lines + "\n\n")
    return tmp_path


@pytest.fixture
def shipped_pairs(monkeypatch, tmp_path):
    """Hide the shipped sets, which need a real model."""
    monkeypatch.setattr(labelled_pairs, "OWN_FOLDER", tmp_path / "none")


class TestCommand:
    def test_it_measures_each_set_at_each_threshold(
        self, data, shipped_pairs, tmp_path
    ):
        out = StringIO()
        numbers = tmp_path / "numbers.json"

        call_command(
            "benchmark",
            "dedup",
            "--in-place",
            f"--data={data}",
            f"--json={numbers}",
            stdout=out,
        )

        rows = json.loads(numbers.read_text())["pairs"]
        assert [(row["set"], row["threshold"]) for row in rows] == [
            (name, threshold)
            for name in ("labelled", "scored")
            for threshold in (0.85, 0.9, 0.95)
        ]
        first = rows[0]
        assert (first["precision"], first["recall"], first["contradictions"]) == (
            1.0,
            1.0,
            0.0,
        )
        assert rows[3]["contradictions"] is None
        assert "labelled" in out.getvalue()

    def test_it_names_a_line_that_is_no_pair(self, data, shipped_pairs):
        (data / "dedup" / "wrong.jsonl").write_text('{"a": "x"}\n')

        with pytest.raises(CommandError, match=r"wrong\.jsonl:1"):
            call_command(
                "benchmark", "dedup", "--in-place", f"--data={data}", stdout=StringIO()
            )


class TestVerdicts:
    @pytest.mark.parametrize("verdict", duplicate_verdicts.VERDICTS.values())
    def test_they_are_the_products(self, verdict):
        def scored_pair(a, b):
            return ScoredPair(TextPair(a, b, True, False), 0.97)

        assert verdict(
            scored_pair("Enable the cache first.", "First enable the cache.")
        )
        assert not verdict(scored_pair("Enable the cache.", "Disable the cache."))


class TestShippedPairs:
    """Return what the guard says of them, at any similarity."""

    def test_each_set_is_half_and_half(self):
        shares = {
            pair_set.name: (
                len(pair_set.pairs),
                sum(pair.is_contradiction for pair in pair_set.pairs),
            )
            for pair_set in labelled_pairs.load_pairs(
                labelled_pairs.OWN_FOLDER / "none"
            )
        }

        assert shares == {
            "opposites": (200, 100),
            "opposites-later": (60, 32),
            "opposites-unseen": (60, 30),
        }

    @pytest.mark.parametrize("verdict", duplicate_verdicts.VERDICTS.values())
    def test_two_percent_of_the_disagreeing_at_most_are_merged(self, verdict):
        every = [
            p
            for one in labelled_pairs.load_pairs(labelled_pairs.OWN_FOLDER / "none")
            for p in one.pairs
        ]
        opposed = [pair for pair in every if pair.is_contradiction]

        merged = [pair for pair in opposed if verdict(ScoredPair(pair, 0.97))]

        assert len(merged) <= 0.02 * len(opposed), merged

    @pytest.mark.parametrize("verdict", duplicate_verdicts.VERDICTS.values())
    def test_nine_of_ten_paraphrases_are_merged(self, verdict):
        every = [
            p
            for one in labelled_pairs.load_pairs(labelled_pairs.OWN_FOLDER / "none")
            for p in one.pairs
        ]
        same = [pair for pair in every if pair.is_duplicate]

        apart = [pair for pair in same if not verdict(ScoredPair(pair, 0.97))]

        assert len(apart) <= 0.1 * len(same), apart
