"""A large batch is written together, and embedded by one job of its project at a time."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.models import AuditEvent
from inference.embedding import row_vectors
from jobs import runner
from jobs.models import Job
from memories.maintenance import embedding_job
from memories.models import Memory, MemoryChange
from memories.store import vectors

SECRET = "ghp_" + "a1B2" * 9
BODY = {"memory_type": "discovery", "agent_id": "agent-1"}


@pytest.fixture
def write(alice_api, project):
    def post(items):
        body = {"project_id": str(project.pk), "memories": [BODY | i for i in items]}
        return alice_api.post("/api/v1/memories/batch", body).json()["results"]

    return post


def lines(count, about="list"):
    return [{"content": f"Fact number {n} of a {about}."} for n in range(count)]


def embed_job():
    return Job.objects.get(kind="embed", state="waiting")


class TestWriting:
    def test_every_item_has_what_a_single_write_has(self, write):
        items = lines(30)
        items[1] = {"content": f"The token is {SECRET}.", "tags": ["t"]}
        items += [{"content": items[0]["content"].upper()}]
        items += [{"kind": "fact", "key": "k", "content": text} for text in "ab"]

        receipts = write(items)

        told = [receipt["status"] for receipt in receipts]
        assert told[:30] == ["stored"] * 30
        assert receipts[30]["duplicate_of"] == receipts[0]["id"]
        assert told[31:] == ["stored", "superseded_key"]
        assert SECRET not in receipts[1]["memory"]["content"]
        assert receipts[1]["notes"][0].startswith("masked: ")

    def test_every_item_has_its_history_and_its_audit_row(self, write):
        ids = sorted(receipt["id"] for receipt in write(lines(30)))

        changes = MemoryChange.objects.filter(action="create")
        assert sorted(str(change.memory_id) for change in changes) == ids
        assert {c.after["content"] for c in changes} == {
            line["content"] for line in lines(30)
        }
        events = AuditEvent.objects.filter(verb="memory.create")
        assert sorted(event.object_id for event in events) == ids
        assert all(event.after_hash for event in events)

    @pytest.mark.parametrize("size", [4, 25])
    def test_the_last_fact_of_a_key_is_the_current_one(self, write, size):
        values = [f"Deploy to server number {n}." for n in range(size)]
        facts = [{"kind": "fact", "key": "deploy", "content": each} for each in values]

        receipts = write(facts)

        assert Memory.objects.current().get().content == values[-1]
        found = [receipt["searchable"]["keyword"] for receipt in receipts]
        assert found == [False] * (size - 1) + [True]
        shown = [receipt["memory"]["superseded_by"] for receipt in receipts]
        assert shown == [receipt["id"] for receipt in receipts[1:]] + [None]

    @pytest.mark.parametrize("size", [10, 25])
    def test_they_are_listed_in_their_order(self, write, alice_api, project, size):
        receipts = write(lines(size))

        query = {"project_id": str(project.pk), "order": "oldest", "limit": size}
        listed = alice_api.get("/api/v1/memories", query).json()["results"]

        assert [row["id"] for row in listed] == [row["id"] for row in receipts]

    def test_what_is_known_already_is_a_duplicate(self, write):
        first = write(lines(25))

        again = write(lines(25))

        originals = [receipt["id"] for receipt in first]
        assert [receipt["duplicate_of"] for receipt in again] == originals

    def test_the_queries_do_not_grow_with_it(self, write):
        with CaptureQueriesContext(connection) as few:
            write(lines(25, "short list"))
        with CaptureQueriesContext(connection) as many:
            write(lines(75, "long list"))

        assert len(many) <= len(few)


class TestEmbedding:
    def test_the_earliest_of_a_batch_is_the_original(self, write, run_jobs):
        alike = (
            "der Lauf in der Nacht leert nicht nur den Cache",
            "der Lauf in der Nacht leert nicht nur Cache",
        )
        receipts = write([*lines(20), *({"content": text} for text in alike)])

        run_jobs()

        earlier, later = receipts[20:]
        assert str(Memory.objects.get(pk=later["id"]).duplicate_of_id) == earlier["id"]

    def test_the_queries_do_not_grow_with_it(self, write, run_jobs):
        counts = []
        for size in (25, 75):
            write([{"content": f"a{n}{size} b{n} c{n} d{n} e{n}"} for n in range(size)])
            with CaptureQueriesContext(connection) as queries:
                run_jobs()
            counts.append(len(queries))

        assert counts[1] <= counts[0] + 5

    def test_a_text_that_the_model_refuses_is_named_and_the_others_go_on(
        self, write, run_jobs, refuse
    ):
        refuse("number 7 ")
        receipts = write(lines(30))

        run_jobs()

        job = Job.objects.get(kind="embed")
        assert job.result["embedded"] == 29
        assert job.result["refused"] == [f"{receipts[7]['id']}: too odd"]

    def test_a_model_that_refuses_everything_fails_it_soon(
        self, write, run_jobs, refuse
    ):
        asked = refuse("")
        write(lines(300))

        run_jobs()

        job = Job.objects.get(kind="embed")
        assert (job.state, job.error) == ("failed", "Permanent: too odd")
        assert len(asked) < 20

    def test_a_long_one_lets_others_go_first_and_tells_of_all_its_turns(
        self, write, run_jobs, refuse, monkeypatch, other_project
    ):
        refuse("number 0 ")
        monkeypatch.setattr(row_vectors, "BATCH_CHUNKS", 1)
        monkeypatch.setattr(runner, "TURN_LENGTH", timedelta(0))
        write(lines(30))
        job = embed_job()
        vectors.embed_later(other_project.pk)

        runner.run(job.pk)
        job.refresh_from_db()
        assert (job.state, job.done) == ("waiting", 1)

        run_jobs()
        job.refresh_from_db()
        assert (job.state, job.done, job.result["embedded"]) == ("done", 29, 29)
        assert len(job.result["refused"]) == 1

    def test_the_one_at_work_looks_again_when_it_has_let_go(
        self, project, write, monkeypatch
    ):
        write(lines(30))
        job = embed_job()
        keep, later = embedding_job._store_and_check, lines(25, "later list")

        def keep_while_others_write(embedded):
            keep(embedded)
            if later:
                write([later.pop() for _ in range(25)])

        monkeypatch.setattr(embedding_job, "_store_and_check", keep_while_others_write)

        runner.run(job.pk)

        job.refresh_from_db()
        assert job.result["embedded"] == 55
        assert not embedding_job.rows_to_embed(project.pk).exists()
