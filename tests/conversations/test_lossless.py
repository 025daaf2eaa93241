"""Whatever happens to a session, its summaries and messages cover what is stored, once."""

from __future__ import annotations

import itertools
from functools import partial
from xml.etree import ElementTree

import pytest
from django.db.models import Sum
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from common.caller import SYSTEM
from conversations.agent_memory.constraints import add_constraint
from conversations.agent_memory.pair import MemoryPair
from conversations.agent_memory.preamble import build_preamble
from conversations.agent_memory.texts import set_text
from conversations.assembly.assemble import assemble
from conversations.compaction import passes
from conversations.compaction.compact import CompactionMode, compact
from conversations.formats.message import ChatMessage
from conversations.messages.append import MessageBatch, append
from conversations.messages.undo import hide_from, redact
from conversations.models import Message, Session, Summary
from conversations.sessions.lifecycle import SessionDraft, bootstrap
from conversations.summarizers import ExtractiveSummarizer, StaticSummarizer
from conversations.tokens import estimate_tokens

pytestmark = pytest.mark.django_db
WORDS = "The build failed because the token of step {} was missing."


class Killed(BaseException):
    """A worker is killed: nothing catches it."""


def say(number):
    role = ("user", "assistant")[number % 2]
    return ChatMessage(role, ({"type": "text", "text": WORDS.format(number)},))


def pair(number):
    call = {"type": "tool_call", "id": f"c{number}", "name": "Bash", "arguments": {}}
    result = {
        "type": "tool_result",
        "id": f"c{number}",
        "name": "Bash",
        "content": WORDS.format(number),
        "is_error": False,
    }
    return ChatMessage("assistant", (call,)), ChatMessage("tool", (result,))


STEPS = st.one_of(
    st.tuples(st.just("append"), st.integers(1, 40)),
    st.tuples(st.just("calls"), st.integers(1, 15)),
    st.tuples(st.sampled_from(["incremental", "full", "killed", "failing"]), st.none()),
    st.tuples(st.just("undo"), st.integers(1, 100)),
    st.tuples(st.just("redact"), st.integers(1, 100)),
)


def do(session, step, number):
    session.refresh_from_db()
    project = session.project
    if step == "append":
        batch = MessageBatch(tuple(say(n) for n in range(number)))
        append(project, session, batch, SYSTEM)
    elif step == "calls":
        batch = MessageBatch(tuple(m for n in range(number) for m in pair(n)))
        append(project, session, batch, SYSTEM)
    elif step == "undo":
        hide_from(session, max(1, session.last_seq * number // 100), SYSTEM)
    elif step == "redact" and session.last_seq:
        seq = max(1, session.last_seq * number // 100)
        redact(session, seq, "asked", SYSTEM)
    elif step == "failing":
        broken = StaticSummarizer(error=RuntimeError("429"))
        if has_raised(lambda: compact(session, broken, CompactionMode.FULL, SYSTEM)):
            return
    elif step == "killed":
        kill_a_pass(session)
    elif step in ("incremental", "full"):
        compact(session, ExtractiveSummarizer(), CompactionMode(step), SYSTEM)


def has_raised(act):
    try:
        act()
    except RuntimeError:
        return True
    return False


def kill_a_pass(session):
    """End a pass between the insert of its summary and the change of its sources."""
    with pytest.MonkeyPatch.context() as patch:

        def killed(*args):
            raise Killed

        patch.setattr(passes, "_replace_tokens", killed)
        try:
            compact(session, ExtractiveSummarizer(), CompactionMode.FULL, SYSTEM)
        except Killed:
            pass


def covered_seqs(session):
    """Expand every summary of the context, and add the messages without a leaf."""
    seqs = list(
        Message.objects.filter(session=session)
        .without_leaf()
        .values_list("seq", flat=True)
    )
    waiting = list(Summary.objects.filter(session=session).without_parent())
    while waiting:
        summary = waiting.pop()
        waiting += summary.children.all()
        seqs += summary.messages.visible().values_list("seq", flat=True)
    return sorted(seqs)


def check(session):
    session.refresh_from_db()
    stored = session.messages.visible()
    assert covered_seqs(session) == sorted(stored.values_list("seq", flat=True))
    assert session.message_count == stored.count()
    total = stored.aggregate(sum=Sum("tokens"))["sum"] or 0
    assert session.token_count == total
    roots = Summary.objects.filter(session=session).without_parent()
    context = (roots.aggregate(sum=Sum("tokens"))["sum"] or 0) + (
        stored.without_leaf().aggregate(sum=Sum("tokens"))["sum"] or 0
    )
    assert session.context_tokens == context
    assert not Summary.objects.filter(session=session, content="").exists()


@given(steps=st.lists(STEPS, min_size=1, max_size=8))
@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_any_history_of_a_session_loses_nothing(project, steps):
    Summary.objects.all().delete()
    Message.objects.all().delete()
    Session.objects.all().delete()
    session, _ = bootstrap(project, SessionDraft("main", agent_id="a"), SYSTEM)
    for step, number in steps:
        do(session, step, number)
        check(session)


NUMBERS = itertools.count()
# Letters, and characters whose escape is longer than they are.
NOTE = st.text("ab <&é\n", max_size=20).map(lambda text: text * 60)


def note(session, soul, profile, listed):
    """Write the notes of a session's agent, and return their version."""
    pair = MemoryPair.of_session(session)
    set_text(pair, "soul", soul, SYSTEM)
    set_text(pair, "profile", profile, SYSTEM)
    for text in listed:
        add_constraint(pair, text, SYSTEM)
    return pair.find().version


def element_of(preamble):
    return preamble[preamble.index("<") :]


@given(
    counts=st.lists(st.tuples(st.booleans(), st.integers(1, 30)), max_size=6),
    budget=st.integers(1, 3_000),
    tail=st.integers(0, 60),
    notes=st.tuples(NOTE, NOTE, st.lists(NOTE.filter(str.strip), max_size=12)),
)
@settings(
    max_examples=16,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_a_context_keeps_its_budget_its_tail_and_its_pairs(
    project, counts, budget, tail, notes
):
    Summary.objects.all().delete()
    Message.objects.all().delete()
    Session.objects.all().delete()
    # The changelog of the agents before cannot be deleted.
    agent_id = f"a{next(NUMBERS)}"
    session, _ = bootstrap(project, SessionDraft("main", agent_id=agent_id), SYSTEM)
    for is_call, count in counts:
        do(session, "calls" if is_call else "append", count)
        do(session, "incremental", None)
    session.refresh_from_db()
    version = note(session, *notes)
    pair = MemoryPair.of_session(session)
    preamble = partial(build_preamble, pair, budget, version)

    found = assemble(session, budget, SYSTEM, fresh_tail=tail, preamble=preamble)

    whole = build_preamble(pair, 10**6, version, 10**6)
    cut = sum(each.tokens for each in found.left_out if not each.to_seq)
    assert estimate_tokens(found.system) + cut == estimate_tokens(whole.text)
    assert not found.system or ElementTree.fromstring(element_of(found.system))
    assert found.tokens <= max(budget, found.tail.tokens)
    stored = list(session.messages.order_by("seq").values_list("seq", flat=True))
    shown = [each.seq for each in found.messages if each.seq is not None]
    newest = stored[len(stored) - tail :] if tail else []
    assert [seq for seq in shown if seq in newest] == newest
    calls = {pk for each in found.messages for pk in each.message.call_ids}
    results = {pk for each in found.messages for pk in each.message.result_ids}
    assert calls == results
    seqs = [each.seq for each in found.messages if each.seq is not None]
    assert seqs == sorted(seqs)
