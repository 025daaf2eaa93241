from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from benchmarks.datasets.corpora import JudgedCollection, JudgedQuery
from benchmarks.measures import search_quality, search_silence
from benchmarks.measures.search_quality import QueryAnswer
from benchmarks.report import quality_metrics
from memories.models import Memory, MemoryChange
from memories.store import vectors
from projects.models import Organization, Project
from search.models import Corpus

DOCUMENTS = [
    {"_id": "d1", "title": "Redis", "text": "Redis may be flushed at any time"},
    {"_id": "d2", "title": "", "text": "Run the migrations before the tests"},
    {"_id": "d3", "title": "", "text": "Vectors are narrow and read in one scan"},
    {"_id": "d4", "title": "A title that stands for its text", "text": ""},
    {"_id": "d5", "title": "", "text": "Run the migrations before the tests"},
    {"_id": "q3", "title": "", "text": "narrow vectors in one scan, narrow vectors"},
]
QUERIES = [
    {"_id": "q1", "text": "flushed redis"},
    {"_id": "q2", "text": "tests after migrations"},
    {"_id": "q3", "text": "narrow vectors in one scan"},
    {"_id": "q4", "text": "kubernetes billing payments"},
]
JUDGEMENTS = [("q1", "d1", 2), ("q2", "d2", 1), ("q2", "d5", 1), ("q3", "d3", 1)]


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "search" / "tiny"
    folder.mkdir(parents=True)
    for name, rows in [("corpus", DOCUMENTS), ("queries", QUERIES)]:
        lines = "\n".join(json.dumps(row) for row in rows)
        (folder / f"{name}.jsonl").write_text(lines)
    rows = [("query-id", "corpus-id", "score"), *JUDGEMENTS]
    (folder / "qrels.tsv").write_text(
        "\n".join("\t".join(map(str, row)) for row in rows)
    )
    return tmp_path


@pytest.fixture
def benchmark(data, tmp_path):
    def run(*arguments):
        out = StringIO()
        call_command(
            "benchmark",
            "search",
            "--in-place",
            f"--data={data}",
            f"--json={tmp_path / 'numbers.json'}",
            *arguments,
            stdout=out,
        )
        return json.loads((tmp_path / "numbers.json").read_text()), out.getvalue()

    return run


@pytest.mark.django_db(transaction=True)
class TestCommand:
    def test_it_writes_a_row_for_each_collection(self, benchmark):
        numbers, table = benchmark()

        (row,) = numbers["collections"]
        assert row["name"] == "tiny"
        assert (row["documents"], row["judged_queries"]) == (6, 3)
        assert row["keyword"] == row["hybrid"] == 1.0
        assert 0 <= row["semantic"] <= 1
        assert set(row["p50_ms"]) == {"keyword", "semantic", "hybrid", "rrf"}
        assert "tiny" in table

    def test_it_embeds_what_the_product_leaves_to_a_job(self, benchmark, monkeypatch):
        monkeypatch.setattr(vectors, "MAX_INLINE", 1)

        (row,) = benchmark()[0]["collections"]

        assert row["hybrid"] == 1.0
        assert row["semantic"] > 0

    def test_it_counts_what_it_changed(self, benchmark):
        numbers, table = benchmark()

        notes = numbers["collections"][0]["notes"]
        assert notes["texts under 10 characters: the title stands for them"] == 1
        assert notes["repeated texts, kept apart by a key"] == 1
        assert "tiny: 1 repeated texts" in table

    def test_it_finds_a_min_score_for_what_has_no_answer(self, benchmark):
        best = benchmark()[0]["collections"][0]["min_score"]

        assert (best["dropped"], best["unanswerable"]) == (1, 1)
        assert best["lost"] == 0

    def test_it_tells_how_often_the_cut_off_is_silent(self, benchmark):
        numbers, table = benchmark()

        own = next(row for row in numbers["silence"] if row["name"] == "tiny")
        assert (own["unanswerable"], own["silent"]) == (1, 1)
        assert own["ndcg_kept"] > 0
        assert "queries without an answer get none" in table

    def test_foreign_queries_come_from_every_other_collection_and_are_the_same_again(
        self,
    ):
        def collection(name):
            queries = [JudgedQuery(f"{name}{n}", name, {"d": 1.0}) for n in range(200)]
            return JudgedCollection(name, [], queries)

        every = [collection(name) for name in ("a", "b", "c")]
        drawn = search_silence.foreign_queries(every, every[0])

        assert len(drawn) == search_silence.FOREIGN
        assert {query.text for query in drawn} == {"b", "c"}
        assert search_silence.foreign_queries(every, every[0]) == drawn

    def test_it_leaves_nothing_behind(self, benchmark):
        benchmark()

        for model in (Project, Organization, Memory, MemoryChange, Corpus):
            assert not model.objects.exists()

    def test_it_can_keep_the_project(self, benchmark):
        benchmark("--keep")

        assert Memory.objects.filter(project=Project.objects.get()).count() == 6

    def test_it_says_where_collections_are_expected(self, tmp_path):
        empty = tmp_path / "empty"
        empty.mkdir()

        with pytest.raises(CommandError, match="holds no collection"):
            call_command("benchmark", "search", "--in-place", f"--data={empty}")


TURNS = [
    ("c1", "c1/1", "Ann", "I moved to Lisbon in spring"),
    ("c1", "c1/2", "Ben", "My boat is called Heron"),
    ("c2", "c2/1", "Eve", "I moved to Oslo in winter"),
]
QUESTIONS = [
    ("q0", "c1", "Where did Ann move in spring?", ["c1/1"]),
    ("q1", "c2", "Who moved to Lisbon in spring?", ["c2/1"]),
]


@pytest.mark.django_db(transaction=True)
class TestConversations:
    @pytest.fixture(autouse=True)
    def _conversations(self, data):
        folder = data / "conversations" / "talk"
        folder.mkdir(parents=True)
        names = ("conv", "id", "speaker", "text")
        turns = [json.dumps(dict(zip(names, row, strict=True))) for row in TURNS]
        (folder / "turns.jsonl").write_text("\n".join(turns))
        names = ("qid", "conv", "question", "evidence")
        rows = [json.dumps(dict(zip(names, row, strict=True))) for row in QUESTIONS]
        (folder / "questions.jsonl").write_text("\n".join(rows))

    def test_a_question_searches_its_own_conversation(self, benchmark):
        numbers, table = benchmark("--collections=talk")

        (row,) = numbers["collections"]
        assert (row["name"], row["documents"], row["judged_queries"]) == ("talk", 3, 2)
        assert row["hybrid"] == row["recall@5"]["hybrid"] == 1.0
        assert "talk: hybrid minus " in table

    def test_all_collections_are_measured_if_none_is_chosen(self, benchmark):
        names = [row["name"] for row in benchmark()[0]["collections"]]

        assert names == ["tiny", "talk"]


def test_the_interval_holds_the_mean_and_is_the_same_each_time():
    differences = [0.0, 0.1, 0.2, -0.1] * 25

    low, high = quality_metrics.bootstrap_interval(differences)

    assert low < 0.05 < high
    assert (low, high) == quality_metrics.bootstrap_interval(differences)
    assert quality_metrics.bootstrap_interval([]) == (0.0, 0.0)


class TestBestThreshold:
    def answer_with(self, score, *, answered):
        query = JudgedQuery("q", "text", {"right": 1} if answered else {})
        return QueryAnswer(query, [("right", score)], ms=1)

    def test_it_separates_right_answers_from_hopeless_ones(self):
        answers = [self.answer_with(s, answered=True) for s in (0.5, 0.6)]
        answers += [self.answer_with(s, answered=False) for s in (0.1, 0.2)]

        best = search_quality.best_threshold(answers)

        assert 0.2 < best.min_score <= 0.5
        assert (best.dropped, best.lost) == (2, 0)

    def test_there_is_none_when_every_query_has_an_answer(self):
        assert (
            search_quality.best_threshold([self.answer_with(0.5, answered=True)])
            is None
        )
