from __future__ import annotations

import json
from dataclasses import replace
from importlib.util import find_spec
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection

from benchmarks.peers import pgvector_table, systems
from projects.models import Project

ALWAYS = [("this service", "semantic"), ("this service", "hybrid")]
PGVECTOR = [("pgvector", "semantic")]
LANCE = [
    (name, mode)
    for name in ("LanceDB, no vector index", "LanceDB, IVF_PQ", "LanceDB, HNSW_SQ")
    for mode in ("semantic", "hybrid")
]
CHROMA = [("Chroma", "semantic")]


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "search" / "tiny"
    folder.mkdir(parents=True)
    documents = [
        {"_id": f"d{n}", "title": f"Note {n}", "text": f"about thing{n} and its kind"}
        for n in range(40)
    ]
    # Long enough for several rows.
    documents.append({"_id": "d40", "title": "", "text": "A walk in the hills. " * 200})
    queries = [{"_id": f"d{n}", "text": f"what of thing{n}"} for n in range(3)]
    queries.append({"_id": "q", "text": "walk in the hills"})
    for name, rows in (("corpus", documents), ("queries", queries)):
        lines = "\n".join(json.dumps(row) for row in rows)
        (folder / f"{name}.jsonl").write_text(lines)
    (folder / "qrels.tsv").write_text("d1\td2\t1\nq\td40\t1")
    return tmp_path


@pytest.fixture
def benchmark(data, tmp_path):
    def run(*arguments):
        out, numbers = StringIO(), tmp_path / "numbers.json"
        given = ("--in-place", f"--data={data}", f"--json={numbers}", *arguments)
        call_command("benchmark", "peers", *given, stdout=out)
        return json.loads(numbers.read_text()), out.getvalue()

    return run


@pytest.fixture
def without_packages(monkeypatch):
    missing = [
        replace(each, package=each.package and "no_such_package")
        for each in systems.SYSTEMS
    ]
    monkeypatch.setattr(systems, "SYSTEMS", missing)


def names(numbers):
    return [(cell["system"], cell["mode"]) for cell in numbers["cells"]]


@pytest.mark.django_db(transaction=True)
class TestWithoutPackages:
    @pytest.fixture(autouse=True)
    def _none_is_installed(self, without_packages):
        pass

    def test_the_service_and_pgvector_find_the_nearest_rows(self, benchmark):
        numbers, printed = benchmark("--sizes", "60", "--queries=3")

        assert names(numbers) == ALWAYS + PGVECTOR
        own, hybrid, pgvector = numbers["cells"]
        assert own["all_recall"] == own["filtered_recall"] == 1.0
        assert pgvector["all_recall"] == 1.0
        assert "all_recall" not in hybrid
        assert all(cell["bytes_a_row"] > 0 for cell in numbers["cells"])
        assert all(0 < c["all_p50_ms"] <= c["all_p95_ms"] for c in numbers["cells"])
        assert "3 queries a cell" in printed

    def test_every_system_is_scored_on_the_collections(self, benchmark):
        numbers, printed = benchmark("--sizes", "20", "--queries=2")

        scores = numbers["ndcg"]["tiny"]
        assert list(scores) == [", ".join(name) for name in ALWAYS + PGVECTOR]
        # The long document is one hit, although all of its rows are found.
        assert all(score >= 0.5 for score in scores.values())
        assert "pgvector, semantic: nDCG@10 tiny 0." in printed

    def test_one_part_can_be_measured_alone(self, benchmark):
        sizes, _ = benchmark("--only=sizes", "--sizes", "20", "--queries=1")
        collections, _ = benchmark("--only=collections")

        assert (len(sizes["cells"]), sizes["ndcg"]) == (3, {})
        assert (collections["cells"], list(collections["ndcg"])) == ([], ["tiny"])

    def test_it_says_how_to_install_what_is_missing(self, benchmark, capsys):
        numbers, printed = benchmark("--sizes", "20", "--queries=2")

        (line,) = numbers["missing"]
        assert "no_such_package is not installed and not measured" in line
        assert "pip install -r requirements-peers.txt" in line
        assert line in printed
        assert line in capsys.readouterr().err

    def test_it_leaves_nothing_behind(self, benchmark):
        benchmark("--sizes", "20", "--queries=2")

        assert not Project.objects.exists()
        assert pgvector_table.TABLE not in connection.introspection.table_names()


@pytest.mark.django_db(transaction=True)
class TestWithPackages:
    # The index IVF_PQ needs 256 rows.
    SIZES = ("--sizes", "300", "--queries=2")

    @pytest.mark.skipif(not find_spec("lancedb"), reason="lancedb is not installed")
    def test_lance_is_searched_by_vectors_and_by_both(self, benchmark):
        numbers, _ = benchmark(*self.SIZES)

        cells = dict(zip(names(numbers), numbers["cells"], strict=True))
        assert set(LANCE) <= set(cells)
        assert cells[LANCE[0]]["all_recall"] == 1.0
        assert cells[LANCE[0]]["filtered_recall"] == 1.0
        assert numbers["ndcg"]["tiny"][", ".join(LANCE[1])] >= 0.5

    @pytest.mark.skipif(not find_spec("chromadb"), reason="chromadb is not installed")
    def test_chroma_is_searched_by_vectors(self, benchmark):
        numbers, _ = benchmark(*self.SIZES)

        cells = dict(zip(names(numbers), numbers["cells"], strict=True))
        assert cells[CHROMA[0]]["all_recall"] >= 0.9
        assert cells[CHROMA[0]]["filtered_recall"] >= 0.9
        assert numbers["ndcg"]["tiny"][", ".join(CHROMA[0])] >= 0.5
