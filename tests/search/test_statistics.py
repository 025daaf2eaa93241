from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import DataError, OperationalError, connection

from common import locks
from jobs.models import Heartbeat
from memories import tasks
from memories.models import Memory
from memories.store.search_columns import CORPUS
from search import statistics
from search.models import Corpus, LexemeStat


def stale(project):
    return statistics.is_stale(
        Memory.objects.current(), project_id=project.pk, name=CORPUS
    )


def counted():
    return set(Corpus.objects.values_list("project_id", flat=True))


class TestRebuild:
    def test_it_counts_in_how_many_rows_a_lexeme_stands(self, remember, count):
        remember("apple apple pear, the first")
        remember("apple and cherry, the second")
        remember("cherry pie with apple, the third")

        corpus = count()

        assert corpus.documents == 3
        counted = dict(corpus.lexemes.values_list("lexeme", "df"))
        assert counted == {"appl": 3, "cherri": 2, "↑appl": 3, "↑cherri": 2}

    def test_it_leaves_out_the_lexemes_of_arms(self, remember, count, project):
        remember("apple number one")
        remember("apple number two")

        count()

        assert not LexemeStat.objects.filter(lexeme__contains=str(project.pk)).exists()

    def test_it_replaces_what_was_counted_before(self, remember, count):
        first = remember("apple number one")
        remember("apple number two")
        count()
        Memory.objects.filter(pk=first.pk).delete()

        corpus = count()

        assert corpus.documents == 1
        assert not corpus.lexemes.exists()

    def test_it_counts_the_rows_of_one_project(self, remember, count, other_project):
        remember("apple number one")
        remember("apple of Charlie", where=other_project)

        assert count().documents == 1

    def test_an_empty_project_has_no_lexemes(self, count):
        corpus = count()

        assert (corpus.documents, corpus.newest_id) == (0, None)

    @pytest.mark.django_db(transaction=True)
    def test_two_at_once_leave_one_count(self, remember, project):
        for n in range(5):
            remember(f"apple number{n}")

        def rebuild(_):
            try:
                rows = Memory.objects.current()
                statistics.rebuild(rows, project_id=project.pk, name=CORPUS)
            finally:
                connection.close()

        with ThreadPoolExecutor(2) as threads:
            list(threads.map(rebuild, range(4)))

        corpus = Corpus.objects.get(project_id=project.pk, name=CORPUS)
        counted = dict(corpus.lexemes.values_list("lexeme", "df"))
        assert counted == {"appl": 5, "↑appl": 5}


class TestRefresh:
    @pytest.fixture
    def broken(self, request, monkeypatch):
        """One of two projects, whose count fails."""
        chosen = request.getfixturevalue(request.param)
        rebuild = statistics.rebuild

        def fail(rows, *, project_id, name):
            if project_id == chosen.pk:
                raise OperationalError("canceling statement due to statement timeout")
            return rebuild(rows, project_id=project_id, name=name)

        monkeypatch.setattr(statistics, "rebuild", fail)
        return chosen

    @pytest.fixture
    def two(self, remember, project, other_project):
        remember("apple number one")
        remember("apple of Charlie", where=other_project)
        return {project.pk, other_project.pk}

    @pytest.fixture
    def due(self, monkeypatch):
        monkeypatch.setattr(statistics, "is_stale", lambda rows, **of: True)

    def test_it_takes_longer_than_a_statement_may(self, remember, project, due):
        remember("apple number one")
        work = "(SELECT count(*) FROM generate_series(1, 1000000)) > 0"
        rows = Memory.objects.current().extra(where=[work])
        with connection.cursor() as cursor:
            cursor.execute("SET statement_timeout = 20")

        statistics.refresh(rows, projects=[project.pk], name=CORPUS)

        assert Corpus.objects.get().documents == 1

    def test_the_limits_hold_again_afterwards(self, remember, project, due):
        def limits():
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT current_setting('statement_timeout'), "
                    "current_setting('lock_timeout')"
                )
                return cursor.fetchone()

        before = limits()
        rows = Memory.objects.current().extra(where=["1 / 0 > 0"])
        with pytest.raises(DataError):
            statistics.refresh(rows, projects=[project.pk], name=CORPUS)

        assert limits() == before

    def test_it_counts_what_is_stale(self, two):
        tasks.refresh_statistics()

        assert counted() == two
        assert Heartbeat.objects.filter(name="statistics").exists()

    # Whichever of them comes first.
    @pytest.mark.parametrize("broken", ["project", "other_project"], indirect=True)
    def test_a_project_that_fails_does_not_hold_up_the_others(
        self, two, broken, caplog
    ):
        with pytest.raises(OperationalError):
            tasks.refresh_statistics()

        assert counted() == two - {broken.pk}
        assert not Heartbeat.objects.filter(name="statistics").exists()
        (record,) = [
            each for each in caplog.records if each.name == statistics.__name__
        ]
        assert record.msg["project_id"] == str(broken.pk)

    @pytest.mark.django_db(transaction=True)
    def test_nor_does_one_whose_count_costs_the_connection(self, two, monkeypatch):
        rebuild = statistics.rebuild

        def lose(rows, **of):
            monkeypatch.setattr(statistics, "rebuild", rebuild)
            fatal = "pg_terminate_backend(pg_backend_pid())"
            return rebuild(rows.extra(where=[fatal]), **of)

        monkeypatch.setattr(statistics, "rebuild", lose)
        with pytest.raises(OperationalError):
            tasks.refresh_statistics()

        assert len(counted()) == 1

    @pytest.mark.django_db(transaction=True)
    def test_a_project_is_left_to_the_process_that_counts_it(
        self, two, project, other_project
    ):
        def refresh():
            try:
                tasks.refresh_statistics()
            finally:
                connection.close()

        with (
            ThreadPoolExecutor(1) as other,
            locks.try_advisory_lock(f"statistics:{CORPUS}:{project.pk}"),
        ):
            other.submit(refresh).result()

        assert counted() == {other_project.pk}


class TestStale:
    def test_an_empty_project_is_not(self, project):
        assert not stale(project)

    def test_a_project_that_was_never_counted_is(self, remember, project):
        remember("apple number one")

        assert stale(project)

    def test_a_fresh_count_is_not(self, remember, count, project):
        remember("apple number one")
        count()

        assert not stale(project)

    def test_one_row_is_enough_in_a_small_project(self, remember, count, project):
        remember("apple number one")
        count()
        remember("apple number two")

        assert stale(project)

    @pytest.mark.parametrize(
        ("documents", "written", "verdict"),
        [(1_000, 49, False), (1_000, 50, True), (2_000, 99, False), (2_000, 100, True)],
    )
    def test_a_large_project_needs_fifty_rows_or_five_percent(
        self, remember, count, project, documents, written, verdict
    ):
        remember("apple number one")
        corpus = count()
        Corpus.objects.filter(pk=corpus.pk).update(documents=documents)
        Memory.objects.bulk_create(
            Memory(
                project=project,
                organization_id=project.organization_id,
                agent_id="a",
                memory_type="learning",
                content="text",
                scope_key="s",
                scope_hash="h",
                similarity_hash=str(n),
                content_tsv="apple",
            )
            for n in range(written)
        )

        assert stale(project) is verdict

    def test_other_projects_do_not_make_it_so(
        self, remember, count, project, other_project
    ):
        remember("apple number one")
        count()
        remember("apple of Charlie", where=other_project)

        assert not stale(project)


class TestUse:
    def test_an_unknown_lexeme_counts_as_standing_in_one_row(
        self, remember, count, terms_of
    ):
        for n in range(3):
            remember(f"apple number{n}")
        count()

        found = terms_of("apple cherry")

        assert [(term.lexeme, term.df) for term in found] == [
            ("cherri", 1),
            ("appl", 3),
        ]
        assert found[0].idf > found[1].idf

    def test_a_project_without_statistics_ranks_by_how_much_matches(
        self, remember, contents
    ):
        remember("apple and nothing else here")
        remember("apple and pear are here")
        remember("apple and pear and cherry are here")

        assert contents("apple pear cherry", mode="keyword") == [
            "apple and pear and cherry are here",
            "apple and pear are here",
            "apple and nothing else here",
        ]


def test_forgetting_a_project_takes_all_of_its_counts(remember, count, project):
    remember("apple number one")
    remember("apple number two")
    count()

    statistics.forget(project.pk)

    assert not Corpus.objects.exists()
    assert not LexemeStat.objects.exists()
