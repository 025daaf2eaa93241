"""The benchmarks of writing and deduplication, which start processes of the product."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from access.models import ApiKey
from projects.models import Project
from tests.benchmarks.measures.test_population_measures import benchmark as benchmark
from tests.benchmarks.measures.test_population_measures import data as data

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(300),  # each test starts a web server and a worker
]


class TestDeduplication:
    def test_a_run_that_is_killed_finds_the_same_pairs(self, benchmark):
        numbers, printed = benchmark("deduplication", "--memories=300", "--kill=1")

        assert (numbers["memories"], numbers["copied"]) == (300, 6)
        assert numbers["whole"]["duplicates"] == numbers["killed"]["duplicates"] >= 6
        assert (numbers["whole"]["attempts"], numbers["killed"]["attempts"]) == (1, 2)
        assert numbers["whole"]["megabytes"]["most"] > 10
        assert "the same pairs: yes" in printed
        assert not Project.objects.exists()


class TestWriting:
    def test_it_waits_until_the_last_text_is_searchable(self, benchmark):
        numbers, printed = benchmark("writing", "--texts=120", "--single=3")

        assert numbers["answered_seconds"] <= numbers["searchable_seconds"]
        assert numbers["share"] == pytest.approx(
            numbers["per_second"] / numbers["alone_per_second"], rel=0.1
        )
        assert numbers["single"] == 3
        assert 0 < numbers["embedding_ms"][0] < numbers["write_ms"][0]
        assert "120 texts in batches of 100 by 8 clients" in printed
        assert not (Project.objects.exists() or ApiKey.objects.exists())
        # As root, beat's usual scheduler removes the file that it cannot read.
        assert Path(os.devnull).is_char_device()
