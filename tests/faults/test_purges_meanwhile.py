"""A purge runs between two steps of other work."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from django.db import connection

from common.erasure import handlers
from jobs import runner
from memories import near_duplicates
from memories.duplicates import scan
from memories.models import DuplicateFinding, Memory, PossibleDuplicate
from memories.retention import erase
from memories.store import files, write
from memories.store.drafts import Draft, FileRef
from tests.memories.retention.test_erase import traces

pytestmark = pytest.mark.django_db(transaction=True)
TEXT = (
    "the cache is cleared by the nightly job of the search service on host `{}` and in "
    "the green room of the harbour beside the crane"
)


@pytest.fixture
def store(project, alice):
    project.settings = {"dedup": {"threshold": 0.8}}
    project.save()

    def store(host):
        draft = Draft(content=TEXT.format(host), memory_type="learning")
        return write.store(project, draft, alice)

    return store


@pytest.fixture
def purged_after(project, alice, monkeypatch):
    """Have the oldest memory purged as soon as a comparison finds a possible duplicate."""

    def purge():
        try:
            oldest = Memory.objects.earliest("pk")
            erase.purge(project, {"ids": [oldest.pk]}, alice, reason="asked")
        finally:
            connection.close()

    def patch(name):
        judge = getattr(near_duplicates, name)

        def judged(*args, **kwargs):
            verdict = judge(*args, **kwargs)
            if verdict.possible:
                with ThreadPoolExecutor(1) as owner:
                    owner.submit(purge).result()
            return verdict

        monkeypatch.setattr(near_duplicates, name, judged)

    return patch


def is_blocked():
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)")
        return cursor.fetchone()[0]


def test_a_file_that_a_concurrent_write_links_to_stays(project, alice, monkeypatch):
    def store(text):
        draft = Draft(content=text, memory_type="learning", files=(FileRef("a.py"),))
        return write.store(project, draft, alice).memory

    def purge():
        try:
            asked = {"ids": [first.pk]}
            return erase.purge(project, asked, alice, reason="asked")
        finally:
            connection.close()

    def purged_meanwhile(*args):
        found = ensure(*args)
        purges.append(owner.submit(purge))
        while not (is_looked_at.is_set() or is_blocked()):
            pass
        return found

    def prepare(*args):
        is_looked_at.set()

    first = store("The first of two that speak of a file")
    purges, is_looked_at, ensure = [], Event(), files.ensure
    monkeypatch.setattr(handlers.ErasureHandler, "prepare", prepare)
    monkeypatch.setattr(files, "ensure", purged_meanwhile)

    with ThreadPoolExecutor(1) as owner:
        second = store("Another one, which says something else")
        assert purges[0].result().state == "done"

    assert second.file_links.get().file.file_path == "a.py"


def test_a_write_names_no_duplicate_of_a_purged_memory(store, purged_after):
    store("flu_host")
    purged_after("compare_new")

    receipt = store("other_host")

    assert (receipt.status, receipt.possible_duplicates) == ("stored", ())
    assert not PossibleDuplicate.objects.exists()
    assert not traces("flu_host")


def test_a_scan_names_no_duplicate_of_a_purged_memory(
    store, purged_after, project, alice
):
    store("flu_host")
    assert store("other_host").possible_duplicates
    job = scan.start(project, alice, threshold=0.8, apply=True)
    purged_after("compare")

    runner.run(job.pk)

    job.refresh_from_db()
    assert job.result["scanned"] == 2
    assert not DuplicateFinding.objects.exists()
    assert not traces("flu_host")
