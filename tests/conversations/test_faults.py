"""A summarizer that fails in any way is replaced by sentences of the text."""

from __future__ import annotations

import contextlib
import itertools
import threading

import pytest

from common import best_effort_redis, locks
from common.caller import SYSTEM
from conversations.compaction import (
    circuit,
    compaction_job,
    compaction_need,
    context,
    model_summarizer,
    passes,
)
from conversations.compaction import compact as compact_module
from conversations.compaction.compact import (
    CompactionMode,
    CompactionRunning,
    compact,
)
from conversations.messages.undo import redact
from conversations.models import Message, Session, Summary
from conversations.search_index import vectors
from conversations.summarizers import (
    ExtractiveSummarizer,
    LLMSummarizer,
    StaticSummarizer,
    SummarizerFailure,
)
from inference.errors import InferenceError
from jobs.models import Job
from tests.conversations.conftest import say, talk
from tests.conversations.test_lossless import Killed, check

pytestmark = pytest.mark.django_db
FULL = CompactionMode.FULL


@pytest.fixture
def session(session_api):
    session_api.bootstrap()
    session_api.append(*talk(60))
    return Session.objects.get()


@pytest.fixture(autouse=True)
def _closed_circuit(project):
    yield
    circuit.note_success(project.pk)


@pytest.fixture
def use(monkeypatch):
    """Let the product use this summarizer."""

    def use(summarizer):
        monkeypatch.setattr(compaction_job, "summarizer_of", lambda project: summarizer)

    return use


@pytest.mark.parametrize(
    "summarizer",
    [
        StaticSummarizer(""),
        StaticSummarizer("  \n"),
        StaticSummarizer(error=SummarizerFailure("429")),
    ],
    ids=repr,
)
def test_where_a_model_fails_sentences_are_taken_from_the_text(session, summarizer):
    compact(session, summarizer, FULL, SYSTEM)

    assert "missing token" in Summary.objects.filter(kind="leaf").first().content
    assert {one.summarizer for one in Summary.objects.all()} == {"extractive"}
    check(Session.objects.get())


def test_where_a_model_invents_a_name_sentences_are_taken_from_the_text(session):
    summarizer = StaticSummarizer("See src/invented/path.py and E9999.")

    result = compact(session, summarizer, CompactionMode.INCREMENTAL, SYSTEM)

    leaf = Summary.objects.get(kind="leaf")
    assert result.leaf_summaries_created == 1
    assert (leaf.summarizer, leaf.model) == ("extractive", "")
    assert "missing token" in leaf.content
    assert "invented" not in leaf.content


def test_invented_names_do_not_open_the_circuit(session, session_api, project, use):
    session_api.append(*talk(100, start=61))
    use(StaticSummarizer("See src/invented/path.py."))

    compaction_job.compact_now(session, FULL, SYSTEM)

    assert Summary.objects.count() > circuit.MAX_FAILURES
    assert not circuit.is_open(project.pk)


def test_a_redaction_reaches_the_summaries_that_read_the_redacted_one(
    session, session_api
):
    """Each summary of this model repeats the one before it, as a model may do."""
    session_api.append(*talk(20, start=61))

    def generate(prompt):
        return f"{len(prompt)} The word is xyzzy."

    for _ in range(3):
        compact(session, LLMSummarizer(generate), CompactionMode.INCREMENTAL, SYSTEM)
    leaves = Summary.objects.filter(kind="leaf").order_by("first_seq")
    before, *_ = leaves
    assert leaves.count() == 3

    redact(session, leaves[1].first_seq, "asked", SYSTEM)

    assert list(Summary.objects.filter(kind="leaf")) == [before]
    check(Session.objects.get())


def test_a_redaction_leaves_later_summaries_of_sentences(session):
    for _ in range(3):
        compact(session, ExtractiveSummarizer(), CompactionMode.INCREMENTAL, SYSTEM)
    first, *later = Summary.objects.filter(kind="leaf").order_by("first_seq")

    redact(session, first.first_seq, "asked", SYSTEM)

    assert list(Summary.objects.filter(kind="leaf").order_by("first_seq")) == later


def test_an_over_long_summary_is_cut(session):
    summarizer = LLMSummarizer(lambda prompt: "A token was missing. " * 3_000)

    compact(session, summarizer, CompactionMode.INCREMENTAL, SYSTEM)

    content = Summary.objects.get(kind="leaf").content
    assert content.endswith("[Truncated — expand for full details]")
    assert len(content) < 2_000


def test_what_a_model_thinks_enters_no_summary(session):
    summarizer = LLMSummarizer(
        lambda prompt: "<think>secret</think>A token was missing."
    )

    compact(session, summarizer, CompactionMode.INCREMENTAL, SYSTEM)

    assert "secret" not in Summary.objects.first().content


def test_a_message_that_is_redacted_meanwhile_stays_out_of_the_summary(session):
    def generate(prompt):
        redact(session, 3, "asked", SYSTEM)
        return "A token was missing."

    compact(session, LLMSummarizer(generate), CompactionMode.INCREMENTAL, SYSTEM)

    assert not Summary.objects.exists()


def test_a_redaction_of_what_the_summary_before_has_reaches_a_running_leaf_pass(
    session,
):
    compact(session, ExtractiveSummarizer(), CompactionMode.INCREMENTAL, SYSTEM)

    def generate(prompt):
        redact(session, 3, "asked", SYSTEM)
        return "It goes on from part 3."

    compact(session, LLMSummarizer(generate), CompactionMode.INCREMENTAL, SYSTEM)

    assert not Summary.objects.exists()
    check(Session.objects.get())


def test_a_redaction_of_what_the_summary_before_has_reaches_a_running_condensed_pass(
    session, session_api
):
    session_api.append(*talk(140, start=61))
    tail_start = context.find_tail_start(session)
    while passes.run_leaf_pass(session, ExtractiveSummarizer(), tail_start):
        pass
    assert passes.run_condensed_pass(session, ExtractiveSummarizer()).last_seq == 120

    def generate(prompt):
        redact(session, 3, "asked", SYSTEM)
        return "It goes on from part 3."

    assert passes.run_condensed_pass(session, LLMSummarizer(generate)) is None

    assert not Summary.objects.filter(kind="condensed").exists()
    check(Session.objects.get())


def test_a_session_that_is_purged_during_its_compaction_is_not_found(
    session, session_api, use
):
    def generate(prompt):
        Message.objects.all().delete()
        Session.objects.all().delete()
        return "A token was missing."

    use(LLMSummarizer(generate))

    answer = session_api.post("sessions/main/compact", mode="full")

    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_after_five_failures_the_summarizer_is_not_asked(session, session_api, use):
    if best_effort_redis.call(lambda client: client.ping()) is None:
        pytest.skip("Redis does not answer")
    asked = []

    def generate(prompt):
        asked.append(prompt)
        raise SummarizerFailure("429")

    session_api.append(*talk(140, start=61))
    use(LLMSummarizer(generate))
    answer = session_api.post("sessions/main/compact", mode="full")

    assert answer.status_code == 200
    assert Summary.objects.count() > circuit.MAX_FAILURES
    assert len(asked) == circuit.MAX_FAILURES


# Each place of a pass, in the order in which a pass comes to it.
PLACES = [
    (context, "find_leaf_source"),
    (passes, "text_of_messages"),
    (passes, "_summarize"),
    (passes, "lock_session"),
    (passes, "_new_summary"),
    (Summary, "save"),
    (vectors, "embed_summaries_later"),
    (passes, "_replace_tokens"),
    (context, "find_condensed_source"),
    (passes, "text_of_summaries"),
    (compact_module, "_record"),
]


@pytest.mark.parametrize("call", [1, 2, 3])
@pytest.mark.parametrize(("owner", "name"), PLACES, ids=lambda value: str(value)[-25:])
def test_a_worker_that_is_killed_anywhere_leaves_whole_passes(
    session, monkeypatch, owner, name, call
):
    calls = itertools.count(1)
    real = getattr(owner, name)

    def killed(*args, **kwargs):
        if next(calls) == call:
            raise Killed
        return real(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, killed)
        with contextlib.suppress(Killed):
            compact(session, ExtractiveSummarizer(), FULL, SYSTEM)
    check(session)

    compact(session, ExtractiveSummarizer(), FULL, SYSTEM)

    check(session)
    ranges = Summary.objects.filter(kind="leaf").values_list("first_seq", "last_seq")
    assert sorted(ranges) == [(1, 20), (21, 40)]
    assert Summary.objects.filter(kind="condensed").count() == 1


@pytest.mark.parametrize(
    "error",
    [
        InferenceError("The model did not answer in 120 s.", retryable=True),
        InferenceError("429 Too Many Requests", retryable=True),
        InferenceError("The model's answer is not JSON.", retryable=False),
    ],
    ids=["hangs", "429", "garbage"],
)
def test_the_job_ends_without_a_model_that_fails(
    session, project, monkeypatch, run_jobs, error
):
    def ask(question, shape, account):
        raise error

    monkeypatch.setattr(model_summarizer.client, "ask", ask)
    monkeypatch.setattr(
        compaction_job, "summarizer_of", model_summarizer.ModelSummarizer
    )
    Session.objects.update(token_budget=100)
    compaction_need.compact_later(session)

    run_jobs()

    assert {one.summarizer for one in Summary.objects.all()} == {"extractive"}
    assert Job.objects.get(kind=compaction_need.KIND).state == "done"


@pytest.mark.django_db(transaction=True)
def test_two_compactions_of_one_session_do_not_run_at_once(session):
    entered, left = threading.Event(), threading.Event()

    def hold():
        from django.db import connection

        with locks.try_advisory_lock(f"compact session:{session.pk}"):
            entered.set()
            left.wait(10)
        connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    entered.wait(10)
    try:
        with pytest.raises(CompactionRunning):
            compact(session, StaticSummarizer("A token was missing."), FULL, SYSTEM)
    finally:
        left.set()
        thread.join()


def test_the_automatic_job_stops_when_the_context_is_small_enough(
    session_api, project, run_jobs
):
    project.settings = {"conversations": {"token_budget": 3_000}}
    project.save()
    session_api.bootstrap()
    long = "The build failed because of a missing token in the deploy step. " * 4
    answer = session_api.append(*(say(f"{long} Part {n}.") for n in range(60)))
    assert answer["needs_compaction"]

    run_jobs()

    session = Session.objects.get()
    assert Summary.objects.filter(kind="leaf").exists()
    assert session.messages.filter(leaf=None).count() >= 20
    assert session_api.get("sessions/main/compaction").json()["needed"] is False
    job = Job.objects.get(kind=compaction_need.KIND)
    assert job.state == "done"
    # The passes end as soon as the context is small enough.
    before = job.result["tokens_before"]
    assert 0 < job.result["tokens_after"] < before
