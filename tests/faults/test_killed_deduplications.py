"""A worker is killed with -9 while it scans for duplicates: the next one goes on."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from common.caller import SYSTEM
from jobs import queue, runner
from memories.duplicates import scan
from memories.models import DuplicateFinding, Memory, MemoryChange
from memories.store import write
from memories.store.drafts import Draft
from tests.faults.test_killed_compactions import die_at, finish_job, run_and_kill

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]
# Of a batch: before its second pair is kept, and when all is written but not committed.
MOMENTS = [(scan, "_record_findings", 2), (runner.JobRun, "step", 2)]


@pytest.fixture(autouse=True)
def _alike(project, monkeypatch):
    """Six texts, each three times with other empty words, in batches of four."""
    monkeypatch.setattr(scan, "SCAN_BATCH", 4)
    project.settings = {"dedup": {"enabled": False}}
    project.save()
    for text in [
        *("at night the {} job clears the cache", "at night {} job clears the cache"),
        "please at night the {} job clears the cache",
    ]:
        for word in ("first", "second", "third", "fourth", "fifth", "sixth"):
            draft = Draft(content=text.format(word), memory_type="learning")
            write.store(project, draft, SYSTEM)


def start_scan(project, caller, *, apply):
    return scan.start(project, caller, threshold=None, apply=apply)


def pairs(job):
    found = DuplicateFinding.objects.filter(job_id=job.pk)
    return sorted(found.values_list("memory", "original", "similarity"))


@pytest.mark.parametrize(("module", "name", "calls"), MOMENTS)
@pytest.mark.parametrize("apply", [False, True])
def test_killed_twice_it_ends_as_if_it_had_not_been(
    project, alice, monkeypatch, module, name, calls, apply
):
    whole = start_scan(project, alice, apply=False)
    assert finish_job(whole)["duplicates"] == 12

    job = start_scan(project, alice, apply=apply)
    for _ in range(2):
        with monkeypatch.context() as patch:
            die_at(patch, module, name, calls)
            run_and_kill(job)

    result = finish_job(job)
    assert (result["scanned"], result["duplicates"]) == (18, 12)
    assert pairs(job) == pairs(whole)
    marks = MemoryChange.objects.filter(action="duplicate_mark")
    assert marks.count() == Memory.objects.filter(is_duplicate=True).count()
    assert marks.count() == (12 if apply else 0)


def test_an_attempt_goes_on_where_the_last_one_was_killed(project, alice, monkeypatch):
    job = start_scan(project, alice, apply=False)

    with monkeypatch.context() as patch:
        die_at(patch, runner.JobRun, "step", 3)
        run_and_kill(job)

    job.refresh_from_db()
    assert job.progress == {"done": 8, "total": 18}
    looked = []
    compare = scan.compare_batch
    monkeypatch.setattr(
        scan,
        "compare_batch",
        lambda batch, job: looked.extend(batch) or compare(batch, job),
    )
    finish_job(job)
    assert len(looked) == 10


def test_a_cancelled_one_ends_at_its_next_step(project, alice, monkeypatch):
    job = start_scan(project, alice, apply=True)
    compare = scan.compare_batch

    def cancel_first(batch, run_job):
        compare(batch, run_job)
        if run_job.cursor:
            with ThreadPoolExecutor(1) as person:
                person.submit(cancel, job).result()

    monkeypatch.setattr(scan, "compare_batch", cancel_first)

    runner.run(job.pk)

    job.refresh_from_db()
    assert (job.state, job.done) == ("cancelled", 4)


def cancel(job):
    try:
        queue.cancel(job)
    finally:
        connection.close()
