from __future__ import annotations

import pytest

from common.caller import SYSTEM
from memories.models import Memory
from memories.read import search as read_search
from memories.store import write
from memories.store.drafts import Draft
from memories.store.search_columns import CORPUS
from search import bm25, statistics


@pytest.fixture
def remember(project):
    """Store a memory: `remember("text", title="…")`."""

    def store(content, *, where=None, **fields):
        draft = Draft(content=content, memory_type="learning", **fields)
        return write.store(where or project, draft, SYSTEM).memory

    return store


@pytest.fixture
def search(project):
    """The answer's hits: `search("words", mode="keyword")`."""

    def ask(query, **fields):
        return read_search.find(
            project, read_search.MemorySearch(query, **fields), SYSTEM
        ).hits

    return ask


@pytest.fixture
def contents(search):
    """What a search finds, best first."""

    def ask(query, **fields):
        return [hit.memory.content for hit in search(query, **fields)]

    return ask


@pytest.fixture
def count(project):
    """Bring the project's statistics up to date."""

    def rebuild():
        rows = Memory.objects.current()
        return statistics.rebuild(rows, project_id=project.pk, name=CORPUS)

    return rebuild


@pytest.fixture
def terms_of(project):
    """The lexemes of a query: `terms_of("red apples")`."""

    def ask(words, language="english"):
        return bm25.look_up_terms(
            words, project_id=project.pk, corpus=CORPUS, language=language
        ).terms

    return ask
