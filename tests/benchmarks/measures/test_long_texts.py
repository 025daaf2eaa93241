from __future__ import annotations

import json
import random
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from benchmarks.measures import long_texts
from common.text import overlap

NOTES = [
    f"# Note {n}\n\nThe service{n} restarts after step{n}a. It waits{n} for the lock{n}b.\n\n"
    f"Look at the log{n} of the worker{n} and at the queue{n} of the broker{n}."
    for n in range(40)
]


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "search" / long_texts.COLLECTION
    folder.mkdir(parents=True)
    rows = [{"_id": str(n), "title": "", "text": text} for n, text in enumerate(NOTES)]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    query = {"_id": "q", "text": "service1"}
    (folder / "queries.jsonl").write_text(json.dumps(query))
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\t1\t1\n")
    return tmp_path


@pytest.mark.django_db(transaction=True)
def test_it_counts_hidden_pairs_and_later_sentences(data, tmp_path):
    out, numbers = StringIO(), tmp_path / "numbers.json"
    counts = ["--pairs=3", "--duplicates=3", "--queries=3"]
    options = ["--in-place", f"--data={data}", f"--json={numbers}", *counts]

    call_command("benchmark", "long", *options, stdout=out)

    found = json.loads(numbers.read_text())
    assert (found["beginnings"]["pairs"], found["beginnings"]["hidden"]) == (3, 0)
    assert found["duplicates"]["pairs"] == 3
    assert found["duplicates"]["hidden"] > 0
    assert found["recall"]["texts"] == 3
    assert "recall@10" in out.getvalue()


@pytest.mark.django_db
def test_it_says_which_collection_is_missing(tmp_path):
    with pytest.raises(CommandError, match="til-jb"):
        call_command("benchmark", "long", "--in-place", f"--data={tmp_path}")


def test_a_common_beginning_is_common_and_the_rest_is_not():
    rng = random.Random(1)
    for _ in range(10):
        first, second = long_texts._common_beginning(NOTES, rng)

        assert first[:1_000] == second[:1_000]
        assert first != second


def test_a_retold_text_says_the_same():
    rng = random.Random(1)
    for _ in range(10):
        first, second = long_texts._retold(NOTES, rng)

        assert overlap.compare(first, second).share > 0.9
