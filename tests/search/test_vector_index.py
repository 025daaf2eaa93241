"""Large projects get an HNSW index of their own; only `explain` tells."""

from __future__ import annotations

import threading
import time
import uuid
from unittest.mock import Mock

import numpy as np
import pytest
from django.db import connection, transaction
from django.db.models import F
from django.db.utils import OperationalError
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from common import locks
from common.caller import SYSTEM
from inference.embedding import active_model
from jobs import queue, runner
from jobs.models import Job
from memories.models import Memory, MemoryVector
from memories.queries import Filters
from memories.read import retrieve, search
from memories.scopes import Scope
from memories.store import write
from memories.store.drafts import Draft, build
from memories.tasks import care_for_indexes
from projects import deletion
from projects.models import Project
from search import semantic, vector_index, vector_index_job
from search.vector_index import VectorIndex

ROWS = 600


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Sizes in proportion to the real ones, so that an index is worth its while."""
    monkeypatch.setattr(vector_index, "MIN_ROWS", 400)
    monkeypatch.setattr(semantic, "DEPTH", 10)
    monkeypatch.setattr(semantic, "NEAREST", 30)
    monkeypatch.setattr(semantic, "ef_search", lambda nearest: 200)


@pytest.fixture
def _database(transactional_db):
    """Of its own transactions, as CONCURRENTLY asks; without an index of other tests."""
    drop_all()
    yield
    drop_all()


def drop_all():
    with connection.cursor() as cursor:
        for index in vector_index.list_indexes(MemoryVector):
            cursor.execute(f'DROP INDEX "{index.name}"')


def fill(project, rows):
    """Memories about a hundred things; one in two hundred is rare."""
    chance = np.random.default_rng(7)
    topics = chance.normal(size=(100, 384))
    drafts = [
        Draft(
            content=f"memory number {n} of thing{n % 100}",
            memory_type="learning",
            scope=Scope("workspace", str(project.pk)),
            tags=("rare",) if n % 200 == 0 else ("common",),
        )
        for n in range(rows)
    ]
    memories = Memory.objects.bulk_create(
        build(project, draft, "english") for draft in drafts
    )
    noise = chance.normal(scale=0.5, size=(rows, 384))
    MemoryVector.objects.bulk_create(
        MemoryVector(
            memory=memory,
            project_id=project.pk,
            model=active_model.get().name,
            embedding=list(topics[n % 100] + noise[n]),
        )
        for n, memory in enumerate(memories)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE memories_memory, memories_memoryvector")


@pytest.fixture
def large(_database, project):
    fill(project, ROWS)
    return project


@pytest.fixture
def indexed(large):
    care()
    return large


@pytest.fixture
def outdated(indexed):
    """With an index of other options than now."""
    with connection.cursor() as cursor:
        cursor.execute(f'ALTER INDEX "{name_of(indexed)}" RESET (ef_construction)')
    return indexed


def care():
    """What beat and a worker do; the finished job."""
    care_for_indexes()
    job = Job.objects.filter(kind=vector_index_job.KIND).order_by("-pk").first()
    if job and job.state == Job.State.WAITING:
        runner.run(job.pk)
        job.refresh_from_db()
    return job


def names():
    return [index.name for index in vector_index.list_indexes(MemoryVector)]


def name_of(project):
    return vector_index.index_name(MemoryVector, project.pk, active_model.get().name)


def ask(project, query="thing7 number", **fields):
    request = search.MemorySearch(query, mode="semantic", explain=True, **fields)
    return search.find(project, request, SYSTEM)


def lane(project, **fields):
    return ask(project, **fields).explanation["semantic_lane"]


def vector_of(query):
    return active_model.embed_query(query)


def nearest(query, rows):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(semantic, "DEPTH", rows)
        return list(semantic.exact_cosines(Memory.objects.all(), vector_of(query)))


def exact(project, query, filters=None):
    rows = retrieve.readable_rows(project, None, filters or Filters(), SYSTEM)
    return list(semantic.exact_cosines(rows, vector_of(query)))


class TestCare:
    def test_a_large_project_is_searched_by_an_index_of_its_own(self, large):
        assert lane(large)["how"] == "exact"

        job = care()

        assert job.result["built"] == [str(large.pk)]
        assert lane(large) == {
            "how": "index",
            "why": "the project has an index of its own",
            "ef_search": 200,
        }

    def test_a_small_one_is_scanned(self, _database, project):
        fill(project, 399)

        assert care() is None
        assert lane(project)["how"] == "exact"

    def test_nothing_is_started_when_nothing_is_due(self, indexed):
        done = care()

        assert care().pk == done.pk

    def test_the_index_stays_until_a_fifth_below_and_goes_then(self, indexed):
        kept = MemoryVector.objects.order_by("pk").values("pk")[:320]
        MemoryVector.objects.exclude(
            pk__in=list(kept.values_list("pk", flat=True))
        ).delete()
        care()
        assert names() == [name_of(indexed)]

        MemoryVector.objects.filter(pk=kept[0]["pk"]).delete()
        care()
        assert names() == []

    def test_the_index_of_a_deleted_project_goes(self, indexed, run_jobs):
        Project.objects.filter(pk=indexed.pk).update(delete_after=timezone.now())
        queue.enqueue(deletion.KIND, project_id=indexed.pk)

        run_jobs()
        assert not Project.objects.filter(pk=indexed.pk).exists()
        care()

        assert names() == []

    def test_the_index_of_another_model_goes(self, indexed, settings):
        settings.EMBEDDING_DIMENSIONS = 64

        care()

        assert names() == []

    def test_an_invalid_index_is_built_again(self, large):
        with another_writer(large), connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = 50")
            with pytest.raises(OperationalError):
                vector_index.build(MemoryVector, large.pk)
            cursor.execute("RESET lock_timeout")
        assert [i.is_valid for i in vector_index.list_indexes(MemoryVector)] == [False]

        care()

        assert [i.is_valid for i in vector_index.list_indexes(MemoryVector)] == [True]

    def test_an_index_of_other_options_is_built_as_now(self, outdated):
        job = care()

        assert job.result["rebuilt"] == [str(outdated.pk)]
        assert [one.is_current for one in vector_index.list_indexes(MemoryVector)] == [
            True
        ]
        assert not vector_index.plan_changes(MemoryVector)

    def test_a_rebuild_that_died_while_it_built_is_still_due(self, outdated):
        index = name_of(outdated)
        with another_writer(outdated), connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = 50")
            with pytest.raises(OperationalError):
                vector_index.rebuild(MemoryVector, outdated.pk)
            cursor.execute("RESET lock_timeout")

        due = vector_index.plan_changes(MemoryVector)

        assert (due.drop, due.rebuild) == ([f"{index}_new"], [outdated.pk])
        assert lane(outdated)["how"] == "index"
        care()
        assert names() == [index]
        assert not vector_index.plan_changes(MemoryVector)

    def test_of_one_that_died_after_it_swapped_only_the_old_index_goes(
        self, outdated, monkeypatch
    ):
        monkeypatch.setattr(vector_index, "_drop", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            vector_index.rebuild(MemoryVector, outdated.pk)

        due = vector_index.plan_changes(MemoryVector)

        assert (due.drop, due.rebuild) == ([f"{name_of(outdated)}_old"], [])

    def test_a_bloated_index_is_rebuilt(self, indexed):
        before = vector_index.list_indexes(MemoryVector)
        with connection.cursor() as cursor:
            cursor.execute(f"COMMENT ON INDEX \"{name_of(indexed)}\" IS '100'")

        job = care()

        assert job.result["rebuilt"] == [str(indexed.pk)]
        assert vector_index.list_indexes(MemoryVector) == before

    def test_a_job_waits_while_another_process_works(self, large):
        holder = threading.Event(), threading.Event()

        def hold():
            with locks.try_advisory_lock(vector_index.LOCK) as mine:
                assert mine
                holder[0].set()
                holder[1].wait(30)
            connection.close()

        thread = threading.Thread(target=hold)
        thread.start()
        holder[0].wait(30)
        job = care()
        holder[1].set()
        thread.join()

        assert job.state == Job.State.WAITING
        assert names() == []


def another_writer(project):
    """A transaction of another session that has written, and goes on."""
    return Writer(project)


class Writer:
    def __init__(self, project):
        self.row = MemoryVector.objects.filter(project_id=project.pk).first()
        self.began, self.over = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.write)

    def write(self):
        with transaction.atomic():
            MemoryVector.objects.filter(pk=self.row.pk).update(model=F("model"))
            self.began.set()
            self.over.wait(30)
        connection.close()

    def __enter__(self):
        self.thread.start()
        assert self.began.wait(30)
        return self

    def __exit__(self, *error):
        self.over.set()
        self.thread.join()


class TestSearches:
    @pytest.mark.parametrize("tag", [None, "common"])
    def test_they_find_what_an_exact_scan_finds(self, indexed, tag):
        filters = Filters(tags=(tag,) if tag else ())
        right = asked = 0
        for n in range(30):
            query = f"thing{n} memory"

            answer = ask(indexed, query, filters=filters, limit=10)

            best = exact(indexed, query, filters)
            right += len({hit.memory.pk for hit in answer.hits} & set(best))
            asked += len(best)
        assert answer.explanation["semantic_lane"]["how"] == "index"
        assert right / asked >= 0.99

    def test_a_selective_filter_goes_exact_and_finds_every_row(self, indexed):
        filters = Filters(tags=("rare",))

        answer = ask(indexed, filters=filters, limit=100)

        assert len(answer.hits) == 3
        how = answer.explanation["semantic_lane"]
        assert how["how"] == "exact"
        assert how["why"].endswith("of the project's 30 nearest rows pass the filters")

    @pytest.mark.parametrize(("wider", "how"), [(1, "exact"), (3, "index")])
    def test_a_wider_look_is_taken_when_it_promises_enough(
        self, indexed, monkeypatch, wider, how
    ):
        monkeypatch.setattr(semantic, "WIDEN_FACTOR", wider)
        # Of the 30 nearest 5, of the 90 nearest 15; an answer of 10 is requested.
        chosen = nearest("thing7 memory", ROWS)[::6]
        Memory.objects.filter(pk__in=chosen).update(tags=["chosen"])
        filters = Filters(tags=("chosen",))

        answer = ask(indexed, "thing7 memory", filters=filters, limit=10)

        assert answer.explanation["semantic_lane"]["how"] == how
        found = [hit.memory.pk for hit in answer.hits]
        assert found == exact(indexed, "thing7 memory", filters)

    def test_rows_are_found_where_deleted_ones_fill_the_index(self, indexed):
        # Nothing vacuums a table that a test just wrote.
        gone = nearest("thing7 memory", 250)
        Memory.objects.filter(pk__in=gone).delete()

        answer = ask(indexed, "thing7 memory", limit=10)

        found = [hit.memory.pk for hit in answer.hits]
        assert found == exact(indexed, "thing7 memory")
        assert len(found) == 10

    def test_the_wider_look_goes_on_behind_deleted_rows(self, indexed, monkeypatch):
        monkeypatch.setattr(semantic, "ef_search", lambda nearest: nearest + 16)
        near = nearest("thing7 memory", ROWS)
        gone = [pk for n, pk in enumerate(near[:100]) if n % 5 < 3]
        Memory.objects.filter(pk__in=gone).delete()
        # Of those that are left a third: 6 of the first 46, 13 of the first 106.
        chosen = [pk for pk in near if pk not in gone][::3]
        Memory.objects.filter(pk__in=chosen).update(tags=["chosen"])
        filters = Filters(tags=("chosen",))

        answer = ask(indexed, "thing7 memory", filters=filters, limit=10)

        assert answer.explanation["semantic_lane"]["how"] == "index"
        found = [hit.memory.pk for hit in answer.hits]
        assert found == exact(indexed, "thing7 memory", filters)

    def test_they_are_right_while_the_index_is_built(self, large):
        before = ask(large).hits
        with another_writer(large):
            builder = threading.Thread(target=build_apart, args=[large.pk])
            builder.start()
            # It waits for the writer, half made.
            wait_until(lambda: names() == [name_of(large)])

            answer = ask(large)

        builder.join()
        assert [hit.memory.pk for hit in answer.hits] == [h.memory.pk for h in before]
        assert answer.explanation["semantic_lane"]["how"] == "exact"
        assert lane(large)["how"] == "index"

    def test_a_memory_is_found_as_soon_as_it_is_written(self, indexed):
        memory = write.store(
            indexed, Draft(content="a zebra crossing", memory_type="learning"), SYSTEM
        ).memory

        answer = ask(indexed, "zebra crossing")

        assert answer.hits[0].memory.pk == memory.pk

    def test_the_twelfth_is_planned_for_its_own_project(self, indexed):
        for _ in range(11):
            ask(indexed)
        with CaptureQueriesContext(connection) as statements:
            search.find(indexed, search.MemorySearch("thing7", mode="semantic"), SYSTEM)

        near = next(s["sql"] for s in statements if "hnsw.ef_search" in s["sql"])
        with connection.cursor() as cursor:
            cursor.execute("EXPLAIN " + near)
            plan = "\n".join(row[0] for row in cursor.fetchall())
            cursor.execute("SHOW hnsw.ef_search")
            afterwards = cursor.fetchone()
        assert f"Index Scan using {name_of(indexed)}" in plan
        assert "$1" not in plan
        assert afterwards == ("40",)


def build_apart(project_id):
    vector_index.build(MemoryVector, project_id)
    connection.close()


def wait_until(happened):
    deadline = time.monotonic() + 30
    while not happened():
        assert time.monotonic() < deadline


class TestPlan:
    @pytest.fixture
    def plan(self):
        """`plan({"a": 3000}, indexed=["a"])`"""

        def make(rows, indexed=(), **fields):
            indexes = [
                VectorIndex(
                    each, **{"is_valid": True, "bytes": 0, "row_bytes": 1, **fields}
                )
                for each in indexed
            ]
            return vector_index.decide_changes(
                indexes, rows, {each: each for each in rows}
            )

        return make

    def test_the_largest_come_first(self, plan, monkeypatch):
        monkeypatch.setattr(vector_index, "MAX_INDEXES", 2)

        assert plan({"a": 1_000, "b": 3_000, "c": 2_000}).build == ["b", "c"]

    def test_a_place_is_kept_against_a_project_that_is_hardly_larger(
        self, plan, monkeypatch
    ):
        monkeypatch.setattr(vector_index, "MAX_INDEXES", 1)

        assert len(plan({"a": 2_000, "b": 2_400}, indexed=["a"])) == 0
        assert plan({"a": 2_000, "b": 2_600}, indexed=["a"]).drop == ["a"]

    def test_an_index_of_no_project_goes(self, plan):
        assert plan({"a": 3_000}, indexed=["a", "b"]).drop == ["b"]

    def test_an_index_of_twice_its_bytes_is_rebuilt(self, plan):
        sizes = {"a": 1_000}

        assert plan(sizes, indexed=["a"], bytes=2_000).rebuild == []
        assert plan(sizes, indexed=["a"], bytes=2_001).rebuild == ["a"]

    def test_names_differ_by_project_model_and_fit_into_an_identifier(self):
        ids = uuid.uuid4(), uuid.uuid4()
        made = {
            vector_index.index_name(MemoryVector, each, model)
            for each in ids
            for model in ("m" * 300, "n")
        }

        assert len(made) == 4
        assert max(map(len, made)) < 63
