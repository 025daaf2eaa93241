"""A compaction whose summarizer fails changes nothing."""

from __future__ import annotations

import pytest

from memories import scoped_store
from memories.models import Memory
from memories.retention.compact import CompactionFailed, CompactionOptions

URL = "/api/v1/memories/compact"


def test_it_names_the_sources_and_the_cause(stored, alice, project):
    store = scoped_store.ScopedStore(project, alice)
    ids = [memory.pk for memory in stored("The first text.", "The second text.")]

    def fail(sources):
        raise ValueError("the model is asleep")

    with pytest.raises(CompactionFailed) as failed:
        store.compact(ids, None, fail, CompactionOptions(delete_sources=True))

    assert (failed.value.status, failed.value.code) == (502, "compaction_failed")
    assert failed.value.detail == (
        f"Compaction failed for entries [{ids[0]}, {ids[1]}]: the model is asleep"
    )
    assert sorted(Memory.objects.current().values_list("pk", flat=True)) == ids


def test_a_blank_summary_is_a_failure(stored, alice_api, project):
    [memory] = stored("A text that is emptied.")
    named = {"project_id": str(project.pk)}
    blank = {"source_ids": [str(memory.pk)], "content": " ", "delete_sources": True}
    made = alice_api.post(URL, named | blank).json()["id"]

    answer = alice_api.post(URL, named | {"source_ids": [made], "summarize": True})

    assert answer.status_code == 502
    assert answer.json()["detail"] == (
        f"Compaction failed for entries [{made}]: the summary is empty"
    )
    assert answer.json()["source_ids"] == [made]
    assert [str(row.pk) for row in Memory.objects.current()] == [made]
