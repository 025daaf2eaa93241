"""Memories of before the chunks get the hash, the words and the vectors of their whole texts."""

from __future__ import annotations

import uuid
from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection

from common.text import plain_text
from inference.embedding import active_model
from inference.embedding.fake import outage
from jobs.models import Job
from memories.maintenance import text_upgrade
from memories.models import Memory, MemoryChange, MemoryFile
from memories.read import search as read_search
from memories.store import originals, vectors, write
from memories.store.drafts import Draft, FileRef

LATE = "the turbine overheats when the valve sticks"
LONG = f"{' '.join(f'word{n}' for n in range(400))} {LATE}"


@pytest.fixture
def old(project, alice):
    """Store a memory as the last release did: with the title and the content alone."""

    def store(content, **fields):
        draft = Draft(content=content, memory_type="learning", **fields)
        memory = write.store(project, draft, alice).memory
        memory.vectors.all().delete()
        text = text_upgrade._earlier_text(memory)[:900]
        vectors.put([(memory, active_model.embed([text]))])
        rows = Memory.objects.filter(pk=memory.pk)
        rows.update(similarity_hash=plain_text.similarity_hash(content))
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE memories_memory SET content_tsv = "
                "with_tiers(to_tsvector('english', content) || "
                "array_to_tsvector(%s::text[])) WHERE id = %s",
                [[f"p:{project.pk}"], memory.pk],
            )
        return memory

    return store


@pytest.fixture
def upgrade(project, run_jobs):
    def run():
        migration = import_module("memories.migrations.0016_upgrade_texts")
        Job.objects.all().delete()
        migration.enqueue(apps, None)
        run_jobs()
        return Job.objects.get(kind="upgrade_texts")

    return run


@pytest.fixture
def found(project, alice):
    def ask(mode):
        request = read_search.MemorySearch(LATE, mode=mode)
        return [hit.memory.pk for hit in read_search.find(project, request, alice).hits]

    return ask


@pytest.mark.parametrize(
    "fields", [{"content": LONG}, {"content": "It ran to its end.", "feedback": LATE}]
)
def test_a_text_is_found_by_what_was_in_no_index(old, upgrade, found, fields):
    memory = old(**fields)

    job = upgrade()

    assert (job.state, job.done, job.result) == ("done", 1, {"rows": 1, "refused": []})
    assert found("keyword") == found("semantic") == [memory.pk]


def test_it_stays_found_until_its_new_vectors_are_there(old, upgrade, found):
    memory = old(f"{LATE} {LONG}")

    with outage():
        job = upgrade()

    assert job.state == "waiting"
    assert found("keyword") == [memory.pk]
    assert memory.vectors.count() == 1


def test_the_same_text_is_one_memory_afterwards(old, upgrade, project, alice):
    fields = {"content": "It ran to its end.", "goal": "Deploy the ledger"}
    memory = old(**fields)
    upgrade()

    draft = Draft(memory_type="learning", **fields)
    receipt = write.store(project, draft, alice)

    assert receipt.duplicate_of == memory


def test_a_text_that_was_stored_again_meanwhile_is_its_duplicate(
    old, upgrade, project, alice
):
    project.settings = {"dedup": {"enabled": False}}
    project.save()
    fields = {"content": "It ran to its end.", "goal": "Deploy the ledger"}
    memory = old(**fields)
    again = write.store(project, Draft(memory_type="learning", **fields), alice)
    assert again.status == "stored"

    upgrade()

    memory.refresh_from_db()
    assert memory.duplicate_of_id == again.memory.pk


def test_the_duplicates_of_a_duplicate_and_its_files_go_with_it(
    old, upgrade, project, alice
):
    fields = {"content": "It ran to its end.", "goal": "Deploy the ledger"}
    memory = old(**fields, files=(FileRef("src/ledger.py"),))
    copy = write.store(
        project, Draft(memory_type="learning", content="Another text."), alice
    ).memory
    originals.mark_duplicate(copy, memory, alice, reason="cosine 0.97")
    project.settings = {"dedup": {"enabled": False}}
    project.save()
    again = write.store(project, Draft(memory_type="learning", **fields), alice).memory

    upgrade()

    copy.refresh_from_db()
    assert copy.duplicate_of == again
    links = MemoryFile.objects.filter(memory=again)
    assert [link.file.file_path for link in links] == ["src/ledger.py"]
    change = MemoryChange.objects.filter(memory_id=memory.pk).first()
    assert (change.action, change.reason) == (
        "duplicate_mark",
        "the same text, found by the upgrade",
    )


def test_a_killed_job_goes_on_where_it_stopped(old, upgrade, monkeypatch, run_jobs):
    monkeypatch.setattr(text_upgrade, "BATCH", 1)
    memories = [old(f"{n} {LONG}") for n in range(3)]
    seen = []
    whole = text_upgrade._upgrade

    def die_at_the_second(rows, refused):
        seen.extend(row.pk for row in rows)
        if len(seen) == 2:
            raise KeyboardInterrupt
        whole(rows, refused)

    monkeypatch.setattr(text_upgrade, "_upgrade", die_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        upgrade()
    job = Job.objects.get(kind="upgrade_texts")
    assert uuid.UUID(job.cursor["last"]) == memories[0].pk
    Job.objects.update(state="waiting", lease_until=None)
    run_jobs()

    assert seen == [
        memories[0].pk,
        *(m.pk for m in memories[1:2]),
        *(m.pk for m in memories[1:]),
    ]
    assert all(memory.vectors.count() > 1 for memory in memories)
