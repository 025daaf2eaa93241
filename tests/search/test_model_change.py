"""Searches answer the same before, during and after a change of the embedding model.

The old model is `fake`, with 384 dimensions, the new one `fake@64`.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import takewhile

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from audit.models import AuditEvent
from common.caller import SYSTEM
from inference.embedding import (
    active_model,
    embedder,
    fake,
    model_record,
    row_vectors,
)
from inference.embedding import reembed as reembed_job
from inference.errors import ProviderDown, RequestRefusal
from inference.models import ActiveModel
from jobs import queue, runner
from jobs.models import Job
from memories.lifecycle import update
from memories.maintenance import embedding_job
from memories.models import Memory, MemoryVector
from memories.queries import Filters
from memories.read import search
from memories.store import originals, vectors
from playbook.lessons import person_edits
from playbook.models import EntryVector, PlaybookEntry
from playbook.reading import relevance

OLD, NEW = "fake", "fake@64"


@pytest.fixture(autouse=True)
def _processes_know_at_once(monkeypatch):
    monkeypatch.setattr(model_record, "CACHE_SECONDS", -1.0)
    model_record.forget()


@pytest.fixture
def configure(settings):
    """What an operator sets before web and workers are started again."""

    def choose(dimensions):
        settings.EMBEDDING_DIMENSIONS = dimensions

    return choose


@pytest.fixture
def reembed(configure):
    """Configure the new model and run the first pass of the job."""

    def run():
        configure(64)
        job = reembed_job.start()
        runner.run(job.pk)
        job.refresh_from_db()
        return job

    return run


@pytest.fixture
def finish(run_jobs):
    """What the job left for later, when every process knows of the switch."""

    def run():
        past = timezone.now() - timedelta(seconds=1)
        while Job.objects.filter(state="waiting").update(run_after=past):
            run_jobs()

    return run


@pytest.fixture
def interrupted(monkeypatch, configure):
    """Run a first pass that `error` ends after the first batch of one text."""

    def run(error):
        configure(64)
        job = reembed_job.start()
        monkeypatch.setattr(reembed_job, "BATCH", 1)
        step = runner.JobRun.step

        def fail(self, *args, **kwargs):
            step(self, *args, **kwargs)
            raise error

        with monkeypatch.context() as patched:
            patched.setattr(runner.JobRun, "step", fail)
            runner.run(job.pk)
        job.refresh_from_db()
        return job

    return run


def by_new(monkeypatch, answer):
    """Let `answer` stand before what the new model does with texts."""
    embed = fake.FakeEmbedder.embed

    def asked(self, texts):
        if self.name == NEW:
            answer(texts)
        return embed(self, texts)

    monkeypatch.setattr(fake.FakeEmbedder, "embed", asked)


def models(table=MemoryVector):
    return set(table.objects.values_list("model", flat=True))


class TestTheActiveModel:
    def test_the_first_vector_decides_it(self, remember):
        remember("Celery acknowledges early")

        recorded = ActiveModel.objects.get()

        assert (recorded.name, recorded.choice["provider"]) == (OLD, "fake")

    def test_another_setting_does_not_change_it(self, remember, configure):
        remember("Celery acknowledges early")
        configure(64)

        assert active_model.get().name == OLD
        assert embedder.from_settings().name == NEW

    def test_writes_use_it_too(self, remember, configure):
        remember("Celery acknowledges early")
        configure(64)
        remember("Redis may lose anything")

        assert models() == {OLD}

    def test_its_key_is_not_stored(self, settings, remember):
        settings.EMBEDDING_API_KEY = "sk-secret"
        remember("Celery acknowledges early")

        assert "sk-secret" not in str(ActiveModel.objects.values())

    def test_an_endpoint_is_not_sent_the_key_of_another(self, settings):
        settings.EMBEDDING_URL = "https://old.example"
        old = embedder.EmbeddingChoice.of_settings()
        settings.EMBEDDING_URL = "https://new.example"
        settings.EMBEDDING_API_KEY = "new"
        settings.EMBEDDING_PREVIOUS_API_KEY = "old"

        assert old.key == "old"
        assert embedder.EmbeddingChoice.of_settings().key == "new"

    def test_one_that_is_gone_leaves_the_keyword_lane(
        self, settings, remember, project
    ):
        remember("Celery acknowledges early")
        ActiveModel.objects.update(
            name="hosted",
            choice={"provider": "openai", "model": "", "url": "", "dimensions": None},
        )

        answer = search.find(project, search.MemorySearch("celery"), SYSTEM)

        assert len(answer.hits) == 1
        assert "hosted cannot be loaded" in answer.notes[0]

    def test_a_write_waits_for_a_model_that_is_gone(self, remember):
        remember("Celery acknowledges early")
        ActiveModel.objects.update(
            name="hosted",
            choice={"provider": "openai", "model": "", "url": "", "dimensions": None},
        )

        assert remember("Redis may lose anything").embedding is None


class TestSearching:
    @pytest.fixture
    def found(self, search):
        """The ids and scores of a semantic search."""

        def ask():
            hits = search("celery broker", mode="semantic")
            return [(hit.memory.pk, hit.score) for hit in hits]

        return ask

    @pytest.fixture
    def three(self, remember):
        remember("Celery asks the broker")
        remember("The broker is Redis")
        remember("Nothing of this kind")

    def test_it_goes_on_while_half_of_the_rows_are_done(
        self, three, found, interrupted
    ):
        before = found()
        interrupted(RuntimeError("killed"))

        assert models() == {OLD, NEW}
        assert found() == before

    def test_it_finds_every_row_right_after_the_switch(self, three, found, reembed):
        before = found()
        reembed()

        assert active_model.get().name == NEW
        assert {pk for pk, _ in found()} == {pk for pk, _ in before}

    def test_a_process_that_does_not_know_yet_finds_as_before(
        self, three, found, reembed, monkeypatch
    ):
        before = found()
        known = model_record.read()
        reembed()
        monkeypatch.setattr(model_record, "read", lambda: known)

        assert found() == before

    def test_a_switch_between_query_and_rows_mixes_nothing(
        self, three, search, reembed, monkeypatch
    ):
        begin_query = active_model.begin_query

        def switch_after(text):
            begun = begin_query(text)
            begun.result()
            reembed()
            return begun

        monkeypatch.setattr(active_model, "begin_query", switch_after)

        assert len(search("celery broker", mode="semantic")) == 3

    def test_duplicates_are_found_too(self, remember, search, reembed):
        kept = remember("Celery asks the broker")
        other = remember("Nothing of this kind")
        originals.mark_duplicate(other, kept, SYSTEM, reason="a person said so")
        reembed()

        hits = search(
            "nothing", mode="semantic", filters=Filters(include_duplicates=True)
        )

        assert other.pk in {hit.memory.pk for hit in hits}


class TestThePlaybook:
    @pytest.fixture
    def entry(self, project, alice):
        changes = {"content": "Ask the broker first.", "category": "gotchas"}
        proposal = person_edits.addition(changes, alice, reason="Alice knows.")
        return person_edits.submit_edit(project, proposal, alice).entry

    def test_entries_change_with_the_memories(self, entry, project, reembed):
        reembed()

        rows = PlaybookEntry.objects.all()
        assert relevance.measure(project, rows, "Ask the broker first.").by_id
        assert entry.embedding.model == NEW

    def test_old_vectors_of_entries_go(self, entry, reembed, finish):
        reembed()
        finish()

        assert models(EntryVector) == {NEW}


class TestWritesMeanwhile:
    def test_one_behind_the_job_is_embedded_before_the_switch(
        self, remember, reembed, monkeypatch
    ):
        first = remember("Celery asks the broker")
        written = []

        def write(texts):
            if not written:
                written.append(remember("Redis may lose anything"))
                update.update_memory(
                    first, {"content": "Celery asks Redis"}, SYSTEM, None
                )

        by_new(monkeypatch, write)
        reembed()

        assert Memory.objects.get(pk=first.pk).embedding.model == NEW
        assert written[0].embedding.model == NEW

    def test_one_that_was_written_last_is_embedded_before_the_switch(
        self, remember, reembed, monkeypatch
    ):
        remember("Celery asks the broker")
        hold_alone, written = model_record.lock, []

        def write_first():
            if not written:
                written.append(remember("Redis may lose anything"))
            return hold_alone()

        monkeypatch.setattr(model_record, "lock", write_first)
        reembed()

        assert set(written[0].vectors.values_list("model", flat=True)) == {OLD, NEW}

    def test_they_do_not_wait_for_a_look_at_all_rows(
        self, remember, reembed, monkeypatch
    ):
        remember("Celery asks the broker")
        monkeypatch.setattr(reembed_job, "LONGEST_WRITE", timedelta())
        with CaptureQueriesContext(connection) as queries:
            reembed()

        asked = [each["sql"] for each in queries]
        (locked,) = (n for n, sql in enumerate(asked) if "_xact_lock(" in sql)
        held = takewhile(lambda sql: "SAVEPOINT" not in sql, asked[locked:])
        assert not [sql for sql in held if 'FROM "memories_memory"' in sql]

    def test_one_that_began_before_the_switch_is_embedded_anew(
        self, remember, reembed, run_jobs, monkeypatch
    ):
        remember("Celery asks the broker")
        embed_short = vectors.embed_short

        def switch_after(texts):
            made = embed_short(texts)
            monkeypatch.undo()
            reembed()
            return made

        monkeypatch.setattr(vectors, "embed_short", switch_after)
        late = remember("Redis may lose anything")
        model_record.forget()
        run_jobs()

        assert set(late.vectors.values_list("model", flat=True)) == {OLD, NEW}

    def test_near_duplicates_are_judged_within_one_model(
        self, remember, interrupted, reembed
    ):
        text = "The broker of Celery is Redis and it may lose anything at any time"
        remember(text)
        interrupted(RuntimeError("killed"))

        assert remember(f"{text}!").is_duplicate

    def test_what_was_never_compared_is_compared_after_the_switch(
        self, remember, reembed
    ):
        text = "The broker of Celery is Redis and it may lose anything at any time"
        remember(text)
        with fake.outage():
            twin = remember(f"{text} indeed")
        Memory.objects.filter(pk=twin.pk).update(content=f"{text}.")
        reembed()

        twin.refresh_from_db()
        assert (twin.is_compared, twin.is_duplicate) == (True, True)


class TestComparingAfterTheSwitch:
    """What was written while the old model was down, in batches of two."""

    TEXT = "The broker of Celery is Redis and it may lose anything at any time"

    @pytest.fixture(autouse=True)
    def _batches(self, monkeypatch):
        monkeypatch.setattr(embedding_job, "COMPARE_BATCH", 2)

    @pytest.fixture
    def late(self, remember):
        def write(*texts, where=None):
            with fake.outage():
                return [remember(text, where=where) for text in texts]

        return write

    @pytest.fixture
    def three(self, late):
        return late("Celery asks the broker", "Redis loses it", "Nothing of this kind")

    def test_the_lease_is_extended_between_batches(self, three, reembed, monkeypatch):
        left, step = [], runner.JobRun.step

        def note(self, *args, **kwargs):
            left.append(Memory.objects.filter(is_compared=False).count())
            step(self, *args, **kwargs)

        monkeypatch.setattr(runner.JobRun, "step", note)
        reembed()

        assert left[-2:] == [1, 0]

    def test_a_window_follows_the_other(self, three, reembed, monkeypatch):
        monkeypatch.setattr(row_vectors, "WINDOW", 1)
        reembed()

        assert not Memory.objects.filter(is_compared=False).exists()

    def test_the_columns_of_searches_are_not_read(self, three, reembed):
        reembed()
        Memory.objects.update(is_compared=False)
        with CaptureQueriesContext(connection) as queries:
            embedding_job.check_embedded(lambda: None)

        assert not [each for each in queries if "content_terms" in each["sql"]]

    def test_each_project_is_compared_within_itself(self, late, reembed, other_project):
        (first,) = late(self.TEXT, where=other_project)
        late(self.TEXT)
        (twin,) = late(f"{self.TEXT}.", where=other_project)
        reembed()

        twin.refresh_from_db()
        assert twin.duplicate_of == first

    def test_the_original_is_the_earliest_though_in_another_batch(self, late, reembed):
        first, _, twin = late(self.TEXT, "Nothing of this kind", f"{self.TEXT}!")
        reembed()

        first.refresh_from_db()
        twin.refresh_from_db()
        assert (first.is_duplicate, twin.duplicate_of) == (False, first)


class TestTheJob:
    @pytest.fixture
    def two(self, remember):
        return [remember("Celery asks the broker"), remember("Redis loses it")]

    def test_it_tells_how_far_it_is(self, two, reembed):
        job = reembed()

        assert (job.state, job.done, job.total) == ("done", 2, 2)
        assert job.result == {"model": NEW, "embedded": 2, "refused": []}

    def test_old_vectors_stay_until_every_process_knows(self, two, reembed, finish):
        reembed()
        assert models() == {OLD, NEW}

        finish()
        assert models() == {NEW}

    def test_a_killed_one_goes_on_where_it_stopped(
        self, two, interrupted, finish, monkeypatch
    ):
        interrupted(RuntimeError("killed"))
        asked = []
        by_new(monkeypatch, asked.extend)
        finish()

        assert asked == [two[1].content]
        assert models() == {NEW}

    def test_it_shows_that_it_works_where_no_row_lacks_anything(
        self, two, reembed, monkeypatch
    ):
        reembed()
        again, steps = reembed_job.start(), []
        monkeypatch.setattr(reembed_job, "WINDOW", 1)
        monkeypatch.setattr(
            runner.JobRun, "step", lambda run, done, **cursor: steps.append(cursor)
        )
        attempt = reembed_job.ReembedAttempt(
            runner.JobRun(again, runner.HANDLERS["reembed"]), embedder.from_settings()
        )
        attempt.fill()

        windows = [{"shelf": 0, "after": str(memory.pk)} for memory in two]
        assert steps == [*({"cursor": each} for each in windows), {"cursor": {}}]

    def test_it_lets_others_go_first_and_goes_on_where_it_stopped(
        self, two, configure, monkeypatch
    ):
        configure(64)
        job, asked, looked = reembed_job.start(), [], []
        Job.objects.create(kind="another")
        by_new(monkeypatch, asked.extend)
        monkeypatch.setattr(runner, "TURN_LENGTH", timedelta(0))
        monkeypatch.setattr(reembed_job, "WINDOW", 1)
        without_vector = reembed_job.EmbeddedTable.without_vector_among

        def look(table, ids, model):
            looked.extend(two.index(memory) for memory in two if memory.pk in ids)
            return without_vector(table, ids, model)

        monkeypatch.setattr(reembed_job.EmbeddedTable, "without_vector_among", look)
        turns = []
        for _ in range(3):
            runner.run(job.pk)
            job.refresh_from_db()
            turns.append((job.state, job.done, job.total, tuple(looked)))
            looked.clear()

        assert turns[:2] == [("waiting", 1, 2, (0,)), ("waiting", 2, 2, (0, 1))]
        # Where it stopped, and then all once more before the switch.
        assert turns[2][:3] == ("done", 2, 2)
        assert turns[2][3][:3] == (1, 0, 1)
        assert asked == [memory.content for memory in two]

    def test_a_cancelled_one_leaves_the_old_model(self, two, interrupted, run_jobs):
        job = interrupted(RuntimeError("stopped"))
        queue.cancel(job)
        run_jobs()

        assert active_model.get().name == OLD

    def test_going_back_removes_what_was_made(
        self, two, interrupted, configure, run_jobs
    ):
        queue.cancel(interrupted(RuntimeError("stopped")))
        configure(None)
        reembed_job.start()
        run_jobs()

        assert models() == {OLD}

    def test_a_model_that_goes_down_is_asked_again_later(
        self, two, interrupted, reembed, finish, monkeypatch
    ):
        def down(texts):
            raise ProviderDown

        with monkeypatch.context() as patched:
            by_new(patched, down)
            job = reembed()
        assert (job.state, active_model.get().name) == ("waiting", OLD)

        finish()
        assert active_model.get().name == NEW

    def test_a_text_that_the_model_refuses_does_not_hold_it_up(
        self, two, reembed, monkeypatch
    ):
        def refuse(texts):
            if two[0].content in texts:
                raise RequestRefusal("too long", status=400)

        by_new(monkeypatch, refuse)
        job = reembed()

        assert job.result["refused"] == [f"{two[0].pk}: too long"]
        assert active_model.get().name == NEW

    def test_a_model_that_refuses_everything_is_not_switched_to(
        self, two, reembed, monkeypatch
    ):
        def refuse(texts):
            raise RequestRefusal("wrong key", status=401)

        by_new(monkeypatch, refuse)
        job = reembed()

        assert (job.state, active_model.get().name) == ("failed", OLD)

    def test_a_worker_with_other_settings_leaves_it(self, two, configure):
        configure(64)
        job = reembed_job.start()
        configure(None)
        runner.run(job.pk)

        job.refresh_from_db()
        assert job.state == "waiting"
        assert "Restart all workers" in job.error

    def test_it_is_not_started_twice(self, two, configure):
        configure(64)

        assert reembed_job.start() == reembed_job.start()

    def test_a_change_to_yet_another_model_ends_it(self, two, configure, run_jobs):
        configure(64)
        given_up = reembed_job.start()
        configure(128)
        reembed_job.start()
        run_jobs()

        given_up.refresh_from_db()
        assert (given_up.state, active_model.get().name) == ("cancelled", "fake@128")

    def test_the_switch_is_on_record(self, two, reembed):
        reembed()

        (event,) = AuditEvent.objects.filter(verb="embeddings.switch")
        assert (event.detail["active"], event.detail["model"]) == (OLD, NEW)

    def test_running_it_again_changes_nothing(self, two, reembed, finish):
        reembed()
        finish()
        before = list(MemoryVector.objects.order_by("pk").values_list("pk", flat=True))
        reembed_job.start()
        finish()

        assert before == list(
            MemoryVector.objects.order_by("pk").values_list("pk", flat=True)
        )

    def test_the_command_names_the_job(self, two, configure, capsys):
        configure(64)
        call_command("reembed")

        told = capsys.readouterr().out
        assert f"{OLD} to {NEW}" in told
        assert str(Job.objects.get(kind="reembed").pk) in told

    def test_an_operator_sees_and_cancels_it(self, two, configure, client_of):
        configure(64)
        job = reembed_job.start()
        api = client_of()

        assert api.get(f"/api/v1/jobs/{job.pk}").json()["kind"] == "reembed"
        assert api.post(f"/api/v1/jobs/{job.pk}/cancel").json()["state"] == "cancelled"

    def test_others_do_not(self, two, configure, alice_api):
        configure(64)
        job = reembed_job.start()

        assert alice_api.get(f"/api/v1/jobs/{job.pk}").status_code == 404
