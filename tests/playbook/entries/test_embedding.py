"""An entry reads its vector as a memory does."""

from __future__ import annotations

from memories.models import Memory
from playbook.models import PlaybookEntry


def test_it_is_the_vector_of_the_first_chunk(write, memory):
    entry = write()

    assert entry.embedding == entry.vectors.get().vector
    assert entry.embedding.model == memory.embedding.model


def test_without_a_model_there_is_none(project, settings):
    settings.EMBEDDING_PROVIDER = "gone"

    rows = [Memory(project=project), PlaybookEntry(project=project)]

    assert [row.embedding for row in rows] == [None, None]
