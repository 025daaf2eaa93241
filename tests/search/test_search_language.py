from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import get_args

import pytest
from django.db import OperationalError, connection, transaction

from common.caller import SYSTEM
from jobs import queue, runner
from jobs.models import Job
from memories.lifecycle import update
from memories.models import Memory, MemoryChange, Tag
from memories.scopes import Scope
from memories.store import tags
from memories.store import write as memory_writing
from memories.store.drafts import Draft
from playbook.lessons import person_edits
from playbook.models import PlaybookEntry
from playbook.reading import entry_list
from projects import lifecycle as projects_lifecycle
from projects import search_language
from projects.models import Project
from projects.options import TextSearchLanguage
from search import parse_query, reindex
from search.models import LexemeStat

HOUSES = "Die alten Häuser am Hafen streicht man nach dem Sturm"
LANGUAGES = get_args(TextSearchLanguage)


@pytest.fixture
def speak(project):
    """Change the language of the project, as its owner does."""

    def change(language, where=None):
        settings = {"search": {"language": language}}
        projects_lifecycle.update(where or project, {}, SYSTEM, settings=settings)
        (where or project).refresh_from_db()
        return Job.objects.filter(kind=search_language.KIND).order_by("pk").last()

    return change


@pytest.fixture
def german(speak, run_jobs):
    speak("german")
    run_jobs()


@pytest.fixture
def marked(search):
    """The extract of what the keyword lane finds first; "" when it finds nothing."""

    def first(words):
        hits = search(words, mode="keyword")
        return hits[0].snippet if hits else ""

    return first


@pytest.fixture
def write(project):
    """Put an entry into the project's playbook."""

    def make(text):
        changes = {"content": text, "category": "gotchas"}
        return person_edits.submit_edit(
            project, person_edits.addition(changes, SYSTEM, reason=""), SYSTEM
        ).entry

    return make


@pytest.fixture
def entries(project):
    """The entries that the keyword lane finds."""

    def found(words):
        hits = entry_list.rank(project, PlaybookEntry.objects.current(), words).hits
        keyword = [hit.id for hit in hits if "keyword" in hit.lanes]
        rows = PlaybookEntry.objects.in_bulk(keyword)
        return [rows[pk].content for pk in keyword]

    return found


def rows_with(lexeme):
    rows = Memory.objects.filter(content_tsv=parse_query.LexemeQuery(f"'{lexeme}'"))
    return rows.count()


@pytest.fixture
def lexemes(terms_of):
    return lambda words, language: {each.lexeme for each in terms_of(words, language)}


class TestGerman:
    def test_it_finds_a_word_in_another_form_and_marks_it(
        self, german, remember, marked
    ):
        remember(HOUSES)

        assert marked("Haus").startswith("Die alten <mark>Häuser</mark> am Hafen")

    def test_its_stop_words_are_not_looked_for(self, german, lexemes):
        assert lexemes("die Häuser und der Hafen", "german") == {
            "haus",
            "haf",
        }

    def test_a_phrase_and_an_excluded_word_hold_in_any_form(
        self, german, remember, contents
    ):
        remember("Ein rotes Haus am Hafen")
        remember("Rote Häuser am Bahnhof")
        remember("Häuser, rote, überall")

        assert contents('"rote Häuser" -Bahnhöfe', syntax="operators") == [
            "Ein rotes Haus am Hafen"
        ]

    def test_a_changed_text_and_a_renamed_tag_are_found(
        self, german, remember, marked, project
    ):
        memory = remember("Die Straßen im Süden", tags=("Schiff",))
        update.update_memory(memory, {"content": HOUSES}, SYSTEM, None)
        assert marked("Haus")
        tags.update(Tag.objects.get(name="Schiff"), SYSTEM, {"name": "Kräne"})

        assert marked("Kran")

    def test_identifiers_and_unspaced_scripts_are_found(self, german, remember, marked):
        remember("Siehe src/auth.py:42, E1101 und 日本語の検索")

        assert "<mark>src</mark>/<mark>auth</mark>" in marked("src/auth.py")
        assert "<mark>E1101</mark>" in marked("e1101")
        assert "<mark>検索</mark>" in marked("検索")


class TestSimple:
    def test_it_finds_whole_words_only(self, speak, run_jobs, remember, marked):
        speak("simple")
        run_jobs()
        remember("The houses are painted in summer")

        assert marked("houses") == "The <mark>houses</mark> are painted in summer"
        assert marked("the") == "<mark>The</mark> houses are painted in summer"
        assert marked("house") == ""


def test_russian_stems_russian_and_english_words(speak, run_jobs, remember, marked):
    speak("russian")
    run_jobs()
    remember("Серверы запускают migrations ночью")

    assert marked("сервер migration") == (
        "<mark>Серверы</mark> запускают <mark>migrations</mark> ночью"
    )


def test_a_capital_letter_of_turkish_is_marked(speak, run_jobs, remember, marked):
    speak("turkish")
    run_jobs()
    remember("Sunucu İstanbul bölgesinde")

    assert marked("istanbul") == "Sunucu <mark>İstanbul</mark> bölgesinde"


class TestEveryLanguage:
    @pytest.mark.django_db
    def test_it_is_one_that_postgresql_has(self):
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT cfgname FROM pg_ts_config"
                " WHERE cfgnamespace = 'pg_catalog'::regnamespace"
            )
            shipped = {name for (name,) in cursor.fetchall()}

        assert set(LANGUAGES) <= shipped
        # Of PostgreSQL 18 only.
        assert shipped - set(LANGUAGES) <= {"estonian"}

    @pytest.mark.parametrize("language", LANGUAGES)
    def test_unspaced_scripts_and_identifiers_are_cut_before_stemming(
        self, lexemes, language
    ):
        text = "日本語 E1101 src/auth.py 1.2.3 한국어"

        assert lexemes(text, language) >= {
            *("日本", "本語", "e1101", "src/auth.py", "1.2.3", "한국")
        }

    @pytest.mark.parametrize(
        ("wrong", "words"),
        [("klingon", "'german'"), ("", "'german'"), (7, "'german'"), ([], "'german'")],
    )
    def test_another_one_is_refused_in_words(self, project, alice_api, wrong, words):
        path = f"/api/v1/projects/{project.pk}/settings"
        answer = alice_api.patch(path, {"search": {"language": wrong}})

        assert answer.status_code == 400
        assert words in answer.json()["errors"]["settings.search.language"][0]
        project.refresh_from_db()
        assert project.options.search.language == "english"
        assert not Job.objects.exists()


class TestChange:
    def test_until_the_job_has_run_only_shared_lexemes_are_found(
        self, remember, speak, marked
    ):
        remember(HOUSES)
        speak("german")

        assert "<mark>Sturm</mark>" in marked("Sturm")
        assert marked("Haus") == ""

    def test_the_job_makes_old_rows_found(self, remember, speak, marked, run_jobs):
        remember(HOUSES)
        speak("german")
        run_jobs()

        assert "<mark>Häuser</mark>" in marked("Haus")

    def test_what_is_written_meanwhile_is_in_the_new_language(
        self, remember, speak, marked
    ):
        speak("german")
        remember(HOUSES)

        assert "<mark>Häuser</mark>" in marked("Haus")

    def test_so_is_what_was_prepared_in_the_old_one(self, project, speak, marked):
        draft = Draft(content=HOUSES, memory_type="learning")
        prepared = memory_writing.prepare(project, [draft], SYSTEM)
        speak("german")
        memory_writing.commit(prepared)

        assert "<mark>Häuser</mark>" in marked("Haus")

    def test_the_job_counts_the_new_lexemes(
        self, remember, count, speak, run_jobs, project
    ):
        remember(HOUSES)
        remember("Ein Haus am See")
        count()
        speak("german")
        run_jobs()

        counted = LexemeStat.objects.filter(corpus__project_id=project.pk)
        assert dict(counted.values_list("lexeme", "df")) == {"haus": 2, "↑haus": 2}

    def test_the_job_takes_duplicates_and_archived_rows_along(
        self, remember, speak, run_jobs, search
    ):
        remember(HOUSES)
        assert remember(HOUSES).is_duplicate
        speak("german")
        run_jobs()

        assert rows_with("haus") == Memory.objects.count() == 2

    def test_it_changes_nothing_else(self, remember, speak, run_jobs):
        before = Memory.objects.light().get(pk=remember(HOUSES).pk)
        speak("german")
        run_jobs()

        after = Memory.objects.light().get(pk=before.pk)
        assert (after.updated_at, after.version) == (before.updated_at, 1)
        assert MemoryChange.objects.filter(memory_id=after.pk).count() == 1

    def test_entries_are_found_by_every_form(self, write, speak, run_jobs, entries):
        before = write("Vor dem Winter alle Häuser prüfen.")
        speak("german")
        after = write("Vor dem Sommer jedes Haus streichen.")
        assert entries("Hauses") == [after.content]
        run_jobs()

        assert set(entries("Hauses")) == {before.content, after.content}

    def test_an_entry_that_is_reworded_or_taken_back_is_found(
        self, write, german, entries, project
    ):
        entry = write("Vor dem Winter die Straßen prüfen.")
        changes = {"content": "Vor dem Winter alle Häuser prüfen."}
        edit = person_edits.change(entry, changes, SYSTEM, reason="", version=None)
        person_edits.submit_edit(project, edit, SYSTEM)

        assert entries("Haus") == [changes["content"]]

    def test_other_settings_start_no_job(self, project, speak):
        projects_lifecycle.update(
            project, {}, SYSTEM, settings={"search": {"fusion": "rrf"}}
        )
        speak("english")

        assert not Job.objects.exists()

    def test_returning_to_the_default_is_a_change(self, project, german, speak):
        job = speak(None)

        assert (project.options.search.language, job.state) == ("english", "waiting")

    def test_other_projects_stay_as_they_are(
        self, remember, speak, run_jobs, other_project
    ):
        theirs = remember(HOUSES, where=other_project)
        before = Memory.objects.get(pk=theirs.pk).content_tsv
        speak("german")
        run_jobs()

        assert Memory.objects.get(pk=theirs.pk).content_tsv == before

    def test_shared_memories_are_indexed_in_the_language_of_their_own_project(
        self, remember, speak, run_jobs, organization, contents
    ):
        sibling = Project.objects.create(organization=organization, name="beta")
        speak("german", where=sibling)
        shared = Scope("org", str(organization.pk))
        remember(HOUSES, where=sibling, scope=shared)
        run_jobs()

        assert contents("Sturm", mode="keyword") == [HOUSES]
        assert contents("haus", mode="keyword") == [HOUSES]
        assert contents("Häuser", mode="keyword") == []


class TestJob:
    @pytest.fixture
    def five(self, remember, monkeypatch):
        """Five memories, which the job writes two at a time."""
        monkeypatch.setattr(reindex, "BATCH", 2)
        return [remember(f"{HOUSES}, Pier {number}") for number in range(5)]

    @pytest.fixture
    def killed(self, monkeypatch):
        """Run a job that ends as a killed one does, after its first batch."""

        def run(job):
            step = runner.JobRun.step

            def fail(self, done, *args, **kwargs):
                if done > 2:
                    raise RuntimeError("killed")
                step(self, done, *args, **kwargs)

            with monkeypatch.context() as patched:
                patched.setattr(runner.JobRun, "step", fail)
                runner.run(job.pk)
            Job.objects.filter(pk=job.pk).update(run_after=job.created_at)

        return run

    def test_it_tells_how_far_it_is(self, five, write, speak, run_jobs):
        write("Vor dem Winter alle Häuser prüfen.")
        job = speak("german")
        run_jobs()

        job.refresh_from_db()
        assert job.progress == {"done": 6, "total": 6}
        assert (job.state, job.result) == ("done", {"rows": 6})

    def test_a_killed_one_goes_on_where_it_stopped(
        self, five, speak, killed, run_jobs, monkeypatch
    ):
        job = speak("german")
        killed(job)
        assert rows_with("haus") == 2
        job.refresh_from_db()
        assert job.progress == {"done": 2, "total": 5}
        Memory.objects.filter(pk=five[0].pk).update(content_tsv="")
        run_jobs()

        job.refresh_from_db()
        assert (job.state, job.result) == ("done", {"rows": 5})
        assert rows_with("haus") == 4

    def test_a_cancelled_one_stops(self, five, speak, killed, run_jobs):
        job = speak("german")
        killed(job)
        queue.cancel(Job.objects.get(pk=job.pk))
        run_jobs()

        assert rows_with("haus") == 2

    @pytest.mark.parametrize("state", ["cancelled", "failed", "discarded"])
    def test_the_same_language_said_again_starts_one_that_was_ended_anew(
        self, five, speak, killed, run_jobs, project, state
    ):
        job = speak("german")
        killed(job)
        Job.objects.filter(pk=job.pk).update(state=state)
        projects_lifecycle.update(
            project, {}, SYSTEM, settings={"search": {"fusion": "rrf"}}
        )
        run_jobs()
        assert rows_with("haus") == 2

        again = speak("german")
        run_jobs()

        again.refresh_from_db()
        assert (again.state, again.result) == ("done", {"rows": 5})
        assert speak("german") == again

    def test_a_second_change_begins_anew_and_ends_the_first(
        self, five, speak, killed, run_jobs, marked
    ):
        first = speak("german")
        killed(first)
        second = speak("simple")
        run_jobs()

        first.refresh_from_db()
        second.refresh_from_db()
        assert (first.state, second.state) == ("cancelled", "done")
        assert "<mark>Häuser</mark>" in marked("Häuser")
        assert marked("Haus") == ""
        assert rows_with("haus") == 0

    def test_one_that_runs_while_the_language_changes_gives_way(
        self, five, speak, run_jobs, monkeypatch
    ):
        write_next, again = reindex._write_next, []

        def change_then_write(*args):
            if not again:
                again.append(speak("simple"))
            return write_next(*args)

        first = speak("german")
        monkeypatch.setattr(reindex, "_write_next", change_then_write)
        run_jobs()

        first.refresh_from_db()
        assert (first.state, rows_with("haus")) == ("cancelled", 0)
        assert rows_with("häuser") == 5

    def test_without_a_project_there_is_nothing_to_do(self, project, speak):
        job = speak("german")
        Job.objects.filter(pk=job.pk).update(project_id=job.pk)
        runner.run(job.pk)

        job.refresh_from_db()
        assert (job.state, job.result) == ("done", {})

    @pytest.mark.django_db(transaction=True)
    def test_a_change_waits_for_what_is_written_in_the_old_language(
        self, project, speak
    ):
        def change():
            with connection.cursor() as cursor:
                cursor.execute("SET lock_timeout = '50ms'")
            try:
                speak("german")
            finally:
                connection.close()

        with transaction.atomic(), ThreadPoolExecutor(1) as thread:
            assert search_language.pin_language(project.pk) == "english"
            with pytest.raises(OperationalError, match="lock timeout"):
                thread.submit(change).result()

        assert speak("german").state == "waiting"
