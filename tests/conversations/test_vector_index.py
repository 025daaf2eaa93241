"""The messages of a large project get an HNSW index of their own, as memories do."""

from __future__ import annotations

import numpy as np
import pytest
from django.db import connection

from common.caller import SYSTEM
from conversations.models import Message, MessageVector, Session
from conversations.search_index import search_columns
from conversations.session_search.search import SessionSearch, find
from inference.embedding import active_model
from jobs import runner
from jobs.models import Job
from memories.tasks import care_for_indexes
from search import nearest_rows, semantic, vector_index, vector_index_job

ROWS = 600


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr(vector_index, "MIN_ROWS", 400)
    monkeypatch.setattr(semantic, "DEPTH", 10)
    monkeypatch.setattr(semantic, "NEAREST", 30)
    monkeypatch.setattr(semantic, "ef_search", lambda nearest: 200)


@pytest.fixture
def large(transactional_db, project):
    """A session of 600 messages about a hundred things."""
    session = Session.objects.create(
        project=project, key="main", agent_id="a", last_seq=ROWS, message_count=ROWS
    )
    chance = np.random.default_rng(7)
    topics = chance.normal(size=(100, 384))
    messages = []
    for n in range(ROWS):
        text = f"message {n} about thing{n % 100}"
        row = Message(
            session=session,
            project_id=project.pk,
            seq=n + 1,
            role="user",
            parts=[{"type": "text", "text": text}],
            text=text,
            has_words=True,
            tokens=5,
        )
        search_columns.fill_message(row, "english")
        messages.append(row)
    Message.objects.bulk_create(messages)
    noise = chance.normal(scale=0.5, size=(ROWS, 384))
    MessageVector.objects.bulk_create(
        MessageVector(
            message=row,
            project_id=project.pk,
            model=active_model.get().name,
            embedding=list(topics[n % 100] + noise[n]),
        )
        for n, row in enumerate(messages)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE conversations_message, conversations_messagevector")
    yield project
    with connection.cursor() as cursor:
        for index in vector_index.list_indexes(MessageVector):
            cursor.execute(f'DROP INDEX "{index.name}"')


def care():
    care_for_indexes()
    job = Job.objects.filter(kind=vector_index_job.KIND).latest("pk")
    if job.state == Job.State.WAITING:
        runner.run(job.pk)
        job.refresh_from_db()
    return job


def names():
    return [index.name for index in vector_index.list_indexes(MessageVector)]


def seqs(project):
    wanted = SessionSearch(
        "message about thing7", mode="semantic", scope="messages", limit=10
    )
    return [hit.seq for hit in find(project, wanted, SYSTEM).hits]


def plan_of_search(project):
    vector = active_model.embed_query("message about thing7")
    return nearest_rows._explain_nearest(Message, vector, project.pk, 30)


def test_an_index_is_built_searched_and_dropped(large):
    scanned = seqs(large)

    assert care().result["built"] == [str(large.pk)]

    name = vector_index.index_name(MessageVector, large.pk, active_model.get().name)
    assert names() == [name]
    assert name in plan_of_search(large)
    assert seqs(large) == scanned

    kept = MessageVector.objects.order_by("pk").values_list("pk", flat=True)[:300]
    MessageVector.objects.exclude(pk__in=list(kept)).delete()
    assert care().result["dropped"] == [name]
    assert names() == []


def test_nothing_is_started_when_nothing_is_due(large):
    done = care()

    assert care().pk == done.pk
