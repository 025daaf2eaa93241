"""What is near is found by a project's own index; nobody can tell from the answers."""

from __future__ import annotations

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from inference.embedding.vector import Vector
from memories import near_duplicates
from memories.models import Memory, MemoryVector, PossibleDuplicate
from memories.scopes import Scope
from memories.store.drafts import Draft, build
from search import near, vector_index
from tests.search.test_vector_index import ROWS, drop_all, fill

pytestmark = pytest.mark.django_db(transaction=True)
LIKE = 0.75  # as near as rows of one topic are to each other


@pytest.fixture
def _indexed(project, monkeypatch):
    """Six rows about each of a hundred things, and the project's own index."""
    monkeypatch.setattr(vector_index, "MIN_ROWS", 400)
    fill(project, ROWS)
    vector_index.build(MemoryVector, project.pk)
    yield
    drop_all()


def verdict(memory, **options):
    vector = memory.vectors.get().vector
    return near_duplicates.compare(memory, [vector], threshold=LIKE, **options)


def exact(memory):
    """The same by a scan of every peer."""
    vector = memory.vectors.get().vector
    unknown = near.Neighbours({}, is_all=False)
    return near_duplicates.compare(memory, [vector], threshold=LIKE, neighbours=unknown)


def shown(found):
    both = [*found.possible, *([found.original] if found.original else [])]
    return [(near.memory.pk, near.similarity, near.why_not_merged) for near in both]


def some(project, count=40):
    return list(Memory.objects.filter(project=project).order_by("pk")[:count])


@pytest.mark.usefixtures("_indexed")
class TestByIndex:
    def test_it_finds_what_an_exact_scan_finds(self, project):
        found = [shown(verdict(memory)) for memory in some(project)]

        assert found == [shown(exact(memory)) for memory in some(project)]
        assert sum(map(len, found)) > len(found)

    def test_the_index_is_used(self, project):
        vector = some(project, 1)[0].vectors.get().vector
        with CaptureQueriesContext(connection) as queries:
            near_duplicates.find_near(project.pk, [vector], threshold=LIKE)

        with transaction.atomic(), connection.cursor() as cursor:
            # Of so few rows a scan is about as fast.
            cursor.execute("SET LOCAL enable_sort = off")
            cursor.execute(f"EXPLAIN {queries[0]['sql']}")
            plan = "\n".join(line for (line,) in cursor.fetchall())
        index = vector_index.index_name(MemoryVector, project.pk, vector.model)
        assert index in plan

    @pytest.mark.parametrize("looked_at", [1, 2, 4])
    def test_it_scans_every_candidate_when_the_nearest_do_not_decide(
        self, project, monkeypatch, looked_at
    ):
        monkeypatch.setattr(near, "MAX_NEIGHBOURS", looked_at)

        found = [shown(verdict(memory)) for memory in some(project)]

        assert found == [shown(exact(memory)) for memory in some(project)]

    def test_a_neighbour_that_is_no_candidate_hides_no_candidate(
        self, project, monkeypatch
    ):
        monkeypatch.setattr(near, "MAX_NEIGHBOURS", 3)
        memory, *_ = some(project, 1)
        topic = [row.pk for row, *_ in [(n.memory,) for n in exact(memory).possible]]
        hidden = Memory.objects.filter(pk__in=topic[:3])
        hidden.update(sensitivity="sensitive")

        found = [pk for pk, *_ in shown(verdict(memory))]

        assert found == topic[3:]

    def test_a_decided_pair_is_left_out(self, project):
        memory, *_ = some(project, 1)
        first = verdict(memory).possible[0].memory
        newer, older = max(memory, first, key=pk), min(memory, first, key=pk)
        PossibleDuplicate.objects.create(
            project=project, memory=newer, other=older, similarity=1, state="kept_both"
        )

        assert first.pk not in [pk for pk, *_ in shown(verdict(memory))]

    def test_a_memory_without_neighbours_costs_one_query(
        self, project, django_assert_num_queries
    ):
        draft = Draft("of something else", scope=Scope("workspace", str(project.pk)))
        memory = build(project, draft, "english")
        lonely = Vector([1.0, *[0.0] * 383], model="fake-384")
        lonely.model = some(project, 1)[0].vectors.get().model

        with django_assert_num_queries(1):
            found = near_duplicates.compare(memory, [lonely], threshold=LIKE)

        assert found == near_duplicates.NO_VERDICT


def pk(memory):
    return memory.pk
