"""The benchmarks of recall, latency and pages, which fill projects of given sizes."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from xml.etree import ElementTree

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection

from access.models import ApiKey
from benchmarks.fixtures import population, temp_project
from common.caller import SYSTEM
from memories.models import Memory
from memories.read import search
from memories.store import search_columns
from projects.models import Project
from search import nearest_rows

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "search" / "tiny"
    folder.mkdir(parents=True)
    documents = [
        {"_id": f"d{n}", "title": f"Note {n}", "text": f"about thing{n} and its kind"}
        for n in range(9)
    ]
    queries = [{"_id": f"q{n}", "text": f"what of thing{n}"} for n in range(4)]
    for name, rows in (("corpus", documents), ("queries", queries)):
        lines = "\n".join(json.dumps(row) for row in rows)
        (folder / f"{name}.jsonl").write_text(lines)
    (folder / "qrels.tsv").write_text("q1\td1\t1")
    return tmp_path


@pytest.fixture
def benchmark(data, tmp_path):
    def run(name, *arguments, where=None):
        out = StringIO()
        numbers = tmp_path / "numbers.json"
        call_command(
            "benchmark",
            name,
            "--in-place",
            f"--data={where or data}",
            f"--json={numbers}",
            *arguments,
            stdout=out,
        )
        return json.loads(numbers.read_text()), out.getvalue()

    return run


class TestPopulation:
    def test_the_second_project_is_half_as_large_as_the_first(self):
        assert population.zipf_sizes(1_100, 3) == [600, 300, 200]

    def test_its_texts_are_real_and_its_vectors_of_length_one(self, data, project):
        population.fill_project(
            project, 30, population.load_passages(data), lambda done: None
        )

        memories = Memory.objects.filter(project=project)
        assert memories.count() == 30
        assert all("about thing" in memory.content for memory in memories)
        lengths = [sum(x * x for x in each.embedding) for each in memories]
        assert lengths == pytest.approx([1] * 30, abs=1e-2)

    def test_a_folder_without_a_collection_is_refused(self, benchmark, tmp_path):
        (tmp_path / "empty").mkdir()

        with pytest.raises(CommandError, match="holds no collection"):
            benchmark("recall", where=tmp_path / "empty")


class TestRecall:
    SIZES = ("--memories=90", "--projects=2", "--queries=3")

    def test_a_cell_for_each_size_and_filter(self, benchmark):
        numbers, printed = benchmark("recall", *self.SIZES)

        cells = numbers["cells"]
        assert [(c["project_size"], c["selectivity"]) for c in cells] == [
            (size, share) for size in (60, 30) for share in (1.0, 0.5, 0.05, 0.005)
        ]
        assert {cell["recall"] for cell in cells} == {1.0}
        assert {cell["too_few"] for cell in cells} == {0}
        assert "3 queries a cell" in printed
        assert not Project.objects.exists()

    def test_it_sees_what_a_lane_loses(self, benchmark, monkeypatch):
        add_candidates = nearest_rows.add_candidates

        def forgetful(*args):
            found = add_candidates(*args)
            worst_first = sorted(found.rows, key=lambda one: (one.cosine, one.id))
            kept = worst_first[11:-1]
            return replace(found, rows=kept, semantic_count=len(kept))

        monkeypatch.setattr(nearest_rows, "add_candidates", forgetful)

        whole = benchmark("recall", *self.SIZES)[0]["cells"][0]

        assert whole["recall"] == 0.95
        assert whole["too_few"] == 3


class TestLatency:
    def test_a_row_for_each_mode_filter_and_number_of_clients(
        self, benchmark, tmp_path
    ):
        plot = f"--plot={tmp_path / 'latency.svg'}"
        sizes = ("--memories=80", "--size=40", "--projects=3", "--queries=3")

        numbers, printed = benchmark(
            "latency", *sizes, "--warming=9", "--uncapped", "--building", plot
        )

        rows = numbers["rows"]
        assert [(r["mode"], r["filter"], r["clients"]) for r in rows] == [
            (mode, name, clients)
            for mode in ("keyword", "semantic", "hybrid")
            for name in ("none", "half")
            for clients in (1, 8)
        ]
        assert all(0 < r["p50_ms"] <= r["p95_ms"] <= r["p99_ms"] for r in rows)
        assert all(
            r["ratio"] == pytest.approx(r["p50_ms"] / r["direct_p50_ms"], rel=0.2)
            for r in rows
        )
        assert "3 queries a row in a project of 40, 80 memories in all" in printed
        assert "10 requests a second, hybrid: p50" in printed
        (caps,) = numbers["caps"]
        assert caps["capped"] == caps["uncapped"]
        assert numbers["building"]["is_valid"]
        assert "while the index was built" in printed
        drawn = ElementTree.parse(tmp_path / "latency.svg").getroot()
        assert len([part for part in drawn if part.tag.endswith("line")]) == 6
        assert not ApiKey.objects.exists()


class TestDigest:
    def test_the_function_and_http_with_and_without_meaning(self, benchmark):
        numbers, printed = benchmark("digest", "--memories=30", "--queries=3")

        assert list(numbers["ways"]) == ["keyword", "keyword and semantic"]
        for way in numbers["ways"].values():
            assert min(*way["function"], *way["http"]) > 0
            assert (way["same"], way["characters"] > 100) == (3, True)
        assert min(numbers["context"]) > 0
        assert "context of a task" in printed
        assert "30 memories, 3 queries" in printed
        assert not Project.objects.exists()


class TestPages:
    SIZES = ("--memories=30", "--entries=4", "--proposals=20", "--tasks=3")
    # Of all the pages, tests/console/test_page_queries.py counts the queries.
    ROUTES = (
        "console:home",
        "console:inbox",
        "console:search",
        "admin:auth_user_changelist",
        "admin:audit_auditevent_add",
    )

    def test_a_row_for_each_page_that_somebody_can_open(self, benchmark):
        sizes = (*self.SIZES, "--rounds=1", "--only", *self.ROUTES)

        numbers, printed = benchmark("pages", *sizes)

        pages = {row["page"]: row for row in numbers["rows"]}
        assert pages["console:home"]["reader"] == "owner"
        assert pages["admin:auth_user_changelist"]["reader"] == "superuser"
        assert "admin:audit_auditevent_add" not in pages
        assert {"console:inbox tab=conflicts", "console:search query"} <= set(pages)
        assert {row["page"].partition(" ")[0] for row in numbers["rows"]} <= {
            *self.ROUTES
        }
        assert all(row["queries"] > 0 for row in numbers["rows"])
        assert "30 memories, 4 entries, 20 proposals" in printed
        assert not (Project.objects.exists() or User.objects.exists())

    def test_an_unknown_route_is_refused(self, benchmark):
        with pytest.raises(CommandError, match="No page has the route console:hom"):
            benchmark("pages", *self.SIZES, "--only", "console:hom")


class TestScale:
    def test_a_row_for_each_size_with_a_third_of_long_texts(self, benchmark, tmp_path):
        chart = tmp_path / "scale.svg"

        numbers, printed = benchmark("scale", "--sizes", "30", "60", f"--plot={chart}")

        small, large = numbers["rows"]
        assert (small["memories"], large["memories"]) == (30, 60)
        # Of 30 memories, ten have 3, 4, 5, 6, 7, 8, 9, 10, 3 and 4 chunks.
        assert small["chunks"] == 20 + 59
        assert small["bytes_a_memory"] > 0
        assert small["server_mib"] > 0
        assert small["hybrid_p50_ms"] <= small["hybrid_p95_ms"]
        assert "30" in chart.read_text()
        assert "bytes a memory" in printed
        assert not Project.objects.exists()


class TestMemoriesInSql:
    def test_they_are_searched_as_memories_of_the_product(self, data, project):
        passages = population.load_passages(data)
        population.fill_project(project, 12, passages, lambda done: None)
        temp_project.refresh_statistics(project)

        for mode in ("keyword", "semantic", "hybrid"):
            request = search.MemorySearch(passages.texts[0], mode=mode)
            assert search.find(project, request, SYSTEM).hits, mode

    def test_their_lexemes_are_those_of_the_product(self, data, project):
        passages = population.load_passages(data)
        columns = {"title": "'Note ' || number", "agent_id": "'a' || mod(number, 3)"}
        population.fill_project(project, 12, passages, lambda done: None, columns)

        for memory in Memory.objects.filter(project=project):
            written = set(lexemes_of(memory))
            search_columns.fill(memory, project.options.search.language)
            memory.save()
            assert set(lexemes_of(memory)) == written
            assert memory.agent_id in ("a0", "a1", "a2")

    def test_the_same_call_writes_the_same_texts(self, data, project, other_project):
        passages = population.load_passages(data)
        for target in (project, other_project):
            population.fill_project(
                target, 9, passages, lambda done: None, long_every=3
            )

        texts = [
            set(Memory.objects.filter(project=each).values_list("content", flat=True))
            for each in (project, other_project)
        ]
        assert texts[0] == texts[1]
        assert len(texts[0]) == 9


def lexemes_of(memory):
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT lexeme FROM memories_memory, unnest(content_tsv) WHERE id = %s",
            [memory.pk],
        )
        return [lexeme for (lexeme,) in cursor.fetchall()]


def test_agent_measures_what_memory_adds_and_how_prompts_grow(benchmark):
    numbers, text = benchmark("agent", "--memories=80", "--queries=2")

    assert numbers["memories"] == 80
    assert numbers["added_ms_p95"] > 0
    assert numbers["search_ms_p95"] > 0
    tokens = numbers["prompt_tokens"]
    assert len(tokens) == 100
    assert max(tokens[20:]) < 2 * tokens[20]
    assert numbers["prompt_tokens_by_invocations"] == sorted(
        numbers["prompt_tokens_by_invocations"]
    )
    assert "recall and prompt" in text
    assert "times the p95 of one hybrid search" in text
    assert not Project.objects.exists()
