"""Random programs of operations against a plain model, through both interfaces.

SCOPE_OPERATIONS is the least number of operations through each interface.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from dataclasses import fields

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from common.caller import SYSTEM
from memories.lifecycle import expire
from memories.lifecycle.promote import BROADER_SCOPES
from memories.models import Memory
from tests.conformance.conftest import ORGANIZATION
from tests.conformance.interfaces import InProcess, Refused, Rest
from tests.conformance.scope_model import (
    BROADER,
    LATER,
    PAST,
    SOON,
    Model,
    Refusal,
    Row,
)

OPERATIONS = int(os.environ.get("SCOPE_OPERATIONS", "100"))
FIRST, REST = 5, 20  # writes and other operations of a program
UNKNOWN = -1, "00000000-0000-7000-8000-000000000000"
SCOPES = [
    {"kind": "session", "session_id": "s1"},
    {"kind": "session", "session_id": "s1", "user_id": "u1"},
    {"kind": "session", "session_id": " s1 "},
    {"kind": "user", "user_id": "u1"},
    {"kind": "user", "user_id": " u1"},
    {"kind": "workspace", "workspace_id": "w1"},
    {"kind": "org", "org_id": ORGANIZATION},
    {"kind": "object", "object_type": "ticket", "object_id": "42"},
    {"kind": "object", "object_type": "ticket ", "object_id": "42"},
]
TAGS = ["a", " a", "b ", "a,b", ",", '"a"', " "]
METADATA = [
    {},
    {"x": 1},
    {"x": {"deep": [2]}, "y": None},
    {"compaction": {"level": "model", "model": "", "generation": 9}},
    {"compacted_provenance": "mine"},
]
AGENTS = ["crawler", "writer"]

scopes = st.sampled_from(SCOPES)
# Half of the memories are in two scopes, so that there is something to compact.
homes = st.one_of(st.sampled_from([SCOPES[1], SCOPES[4]]), scopes)
tags = st.lists(st.sampled_from(TAGS), max_size=3)
expiries = st.sampled_from([None, None, PAST, SOON, SOON, LATER])
texts = st.sampled_from(["a new text", "a new text", "a new text", "", " \n "])
# A row: any that ever was or none, or the newest of those that can be read, or of those
# that were compacted.
picks = st.tuples(
    st.sampled_from(["any", "readable", "readable", "compacted", "compacted"]),
    st.integers(0, 9),
)


def some(**values):
    """Any of the fields; each may be null."""
    return st.fixed_dictionaries({}, optional=values)


def or_null(values):
    return st.one_of(st.none(), values, values)


titles = or_null(st.just("A title"))
confidences = or_null(st.sampled_from([0.25, 0.5]))
new = some(
    tags=or_null(tags),
    metadata=or_null(st.sampled_from(METADATA)),
    title=titles,
    confidence=confidences,
    agent_id=or_null(st.sampled_from(AGENTS)),
    expires_at=expiries,
)
patch = some(
    content=or_null(st.just("changed")),
    tags=or_null(tags),
    metadata=or_null(st.sampled_from(METADATA)),
    title=titles,
    confidence=confidences,
    expires_at=expiries,
)
promotion = some(
    delete_original=st.booleans(),
    content=or_null(st.just("promoted")),
    tags=or_null(tags),
)
compaction = some(
    delete_sources=st.booleans(),
    tags=or_null(tags),
    metadata=or_null(st.sampled_from(METADATA)),
    expires_at=expiries,
)
limits = st.sampled_from([None, 0, -2, 0.5, 1, 2.9, 100])
writes = st.tuples(st.just("write"), homes, new)
compactions = st.tuples(
    st.just("compact"),
    st.lists(picks, max_size=4),
    st.sampled_from(["same", "same", "same", "mixed"]),
    st.one_of(st.none(), st.none(), st.none(), st.none(), scopes),
    texts,
    compaction,
    st.booleans(),
)
targets = st.one_of(st.sampled_from(SCOPES[5:7]), scopes)
promotions = st.tuples(st.just("promote"), picks, targets, promotion)
steps = st.one_of(
    writes,
    compactions,
    compactions,
    compactions,
    promotions,
    promotions,
    st.tuples(st.just("update"), picks, patch),
    st.tuples(st.just("delete"), picks),
    st.tuples(st.just("delete_by_scope"), scopes),
    st.tuples(st.just("archive_expired")),
    st.tuples(st.just("get"), picks),
    st.tuples(st.just("get_many"), st.lists(picks, min_size=1, max_size=4)),
    st.tuples(
        st.just("retrieve"),
        st.one_of(homes, scopes),
        tags,
        limits,
        st.booleans(),
        or_null(st.just("s1")),
        st.one_of(st.none(), picks),
    ),
)


@pytest.fixture(params=["rest", "in_process"])
def interface(request, project, alice, alice_api):
    project.settings = {"dedup": {"enabled": False}, "content_min": 1}
    project.save()
    if request.param == "rest":
        return Rest(alice_api, project)
    return InProcess(alice, project)


def test_the_model_knows_the_same_broader_scopes():
    assert {kind: set(targets) for kind, targets in BROADER_SCOPES.items()} == BROADER


def test_the_store_does_what_the_model_does(interface):
    done = Counter()

    @settings(
        max_examples=-(-OPERATIONS // (FIRST + REST)),
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(
        st.lists(writes, min_size=FIRST, max_size=FIRST),
        st.lists(steps, min_size=REST, max_size=REST),
    )
    def run(first, rest):
        with transaction.atomic():
            pair = Pair(interface)
            for number, (operation, *args) in enumerate([*first, *rest]):
                done[f"{operation}: {pair.step(operation, number, *args)}"] += 1
                pair.compare()
            transaction.set_rollback(True)

    run()

    if "SCOPE_OPERATIONS" in os.environ:
        lines = [f"{sum(done.values())} operations through {type(interface).__name__}"]
        lines += [f"{count:7} {name}" for name, count in sorted(done.items())]
        sys.stdout.write("\n".join(["", *lines, ""]))


class Pair:
    """The store and the model side by side."""

    def __init__(self, interface):
        self.interface = interface
        self.model = Model()
        # The ids of the rows of the model, in its order.
        self.ids = []
        self.scope = SCOPES[0]

    def step(self, operation, number, *args):
        """Do one operation with both; return how it ended."""
        return getattr(self, operation)(f"Text {number}.", *args)

    def compare(self):
        """Compare all rows, and what the interface reads of the scope that changed."""
        rows = Memory.objects.filter(deleted_at=None).order_by("pk").light()
        live = self.model.live()
        assert [str(row.pk) for row in rows] == [self.ids[n] for n in live]
        assert [self.row_of(columns(row)) for row in rows] == [
            self.model.rows[n] for n in live
        ]
        self.compare_read(self.scope, order="oldest", limit=100)

    def compare_read(self, scope, session=None, since=None, **query):
        expected = self.model.retrieve(scope, session=session, since=since, **query)
        if since is not None:
            query["since"] = Memory.objects.get(pk=self.ids[since]).created_at
        if session is not None:
            query |= {"include_narrower": True, "session_id": session}
        if query["limit"] is None:
            del query["limit"]
        found = self.interface.retrieve(scope, **query)
        assert [answer["id"] for answer in found] == [self.ids[n] for n in expected]
        for answer, number in zip(found, expected, strict=True):
            assert self.row_of(answer) == self.model.rows[number]

    def both(self, expected, actual):
        """Return what both return, or that both refuse for the same reason."""
        try:
            result = expected()
        except Refusal as refusal:
            status, code, missing = refusal.answer
            with pytest.raises(Refused) as refused:
                actual()
            told = refused.value
            assert (told.status, told.code) == (status, code)
            if missing is not None:
                assert told.missing_ids == [self.id_of(n) for n in missing]
            return None
        return result, actual()

    # How rows are named and shown

    def picked(self, pick):
        where, number = pick
        readable = self.model.readable()
        rows = range(-1, len(self.model.rows)) if where == "any" else readable
        if where == "compacted":
            rows = [n for n in rows if self.model.rows[n].compacted_from] or readable
        return rows[-1 - number % len(rows)] if rows else UNKNOWN[0]

    def id_of(self, number):
        return UNKNOWN[1] if number == UNKNOWN[0] else self.ids[number]

    def number_of(self, memory_id):
        return None if memory_id is None else self.ids.index(str(memory_id))

    def row_of(self, shown):
        """Return what is shown of a memory as a row of the model."""
        row = {field.name: shown[field.name] for field in fields(Row)}
        row |= self.lineage_of(row)
        record = dict(row["compaction"])
        if "provenance" in record:
            record["provenance"] = [
                source | {"id": self.number_of(source["id"]), **self.lineage_of(source)}
                for source in record["provenance"]
            ]
        return Row(**row | {"tags": tuple(row["tags"]), "compaction": record})

    def lineage_of(self, row):
        lineage = {}
        if "promoted_from" in row:
            lineage["promoted_from"] = self.number_of(row["promoted_from"])
        if "compacted_from" in row:
            lineage["compacted_from"] = tuple(
                map(self.number_of, row["compacted_from"])
            )
        if "agent_id" in row:
            known = row["agent_id"] in AGENTS
            lineage["agent_id"] = row["agent_id"] if known else "other"
        return lineage

    def added(self, number, answer):
        self.ids.append(answer["id"])
        assert number == len(self.ids) - 1
        row = self.model.rows[number]
        assert self.row_of(answer) == row
        if not row.is_expired:
            self.compare_sources(number)
        self.scope = row.scope

    def compare_sources(self, number):
        sources = self.interface.sources(self.ids[number])
        assert sources == [self.ids[n] for n in self.model.sources(number)]

    # The operations

    def write(self, text, scope, wish):
        number, answer = self.both(
            lambda: self.model.write(scope, text, wish),
            lambda: self.interface.write(scope, text, **wish),
        )
        self.added(number, answer)
        return "done"

    def update(self, text, pick, patch):
        patch = patch | ({"content": text} if patch.get("content") else {})
        number = self.picked(pick)
        result = self.both(
            lambda: self.model.update(number, patch),
            lambda: self.interface.update(self.id_of(number), patch),
        )
        if result is None:
            return "refused"
        assert self.row_of(result[1]) == self.model.rows[number]
        self.scope = self.model.rows[number].scope
        return "done"

    def delete(self, text, pick):
        number = self.picked(pick)
        was = "live" if number in self.model.live() else "gone"
        for _ in range(2):
            self.model.delete(number)
            self.interface.delete(self.id_of(number))
        return was

    def delete_by_scope(self, text, scope):
        count = self.model.delete_by_scope(scope)
        assert self.interface.delete_by_scope(scope) == count
        self.scope = scope
        return "some" if count else "none"

    def archive_expired(self, text):
        return "some" if expire.archive_expired(SYSTEM) else "none"

    def get(self, text, pick):
        number = self.picked(pick)
        expected = self.model.get(number)
        answer = self.interface.get(self.id_of(number))
        if expected is None:
            assert answer is None
            return "nothing"
        assert self.row_of(answer) == expected
        self.compare_sources(number)
        return "done"

    def get_many(self, text, picks):
        numbers = list(dict.fromkeys(map(self.picked, picks)))
        found, missing = self.interface.get_many([self.id_of(n) for n in numbers])
        readable = [n for n in numbers if self.model.get(n)]
        assert [self.number_of(answer["id"]) for answer in found] == readable
        assert [self.row_of(answer) for answer in found] == [
            self.model.rows[n] for n in readable
        ]
        assert missing == [self.id_of(n) for n in numbers if n not in readable]
        return "some missing" if missing else "done"

    def retrieve(self, text, scope, tags, limit, is_oldest, session, pick):
        order = "oldest" if is_oldest else "newest"
        # The API refuses a session for other scopes; the requirement does not read it.
        session = session if scope["kind"] == "user" else None
        since = self.picked(pick) if pick else None
        since = None if since == UNKNOWN[0] else since
        self.compare_read(scope, session, since, tags=tags, limit=limit, order=order)
        return "done" if since is None else "since a row"

    def promote(self, text, pick, target, wish):
        wish = wish | ({"content": text} if wish.get("content") else {})
        number = self.picked(pick)
        source = self.model.get(number)
        result = self.both(
            lambda: self.model.promote(number, target, wish),
            lambda: self.interface.promote(
                self.id_of(number), {"target_scope": target, **wish}
            ),
        )
        if result is None:
            return "refused"
        self.added(*result)
        return "of a compaction" if source.compacted_from else "done"

    def compact(self, text, picks, choice, target, content, wish, is_dry):
        text = text if content.strip() else content
        sources = [self.picked(pick) for pick in picks]
        if choice == "same" and sources and (first := self.model.get(sources[0])):
            sources = [
                n
                for n in sources
                if n in self.model.readable()
                and self.model.rows[n].scope == first.scope
            ]
            sources += self.model.readable(first.scope)[-1:]
        named = {"target_scope": target} if target else {}
        compact = (
            self.interface.rehearse_compaction if is_dry else self.interface.compact
        )
        result = self.both(
            lambda: self.model.compact(sources, target, text, wish, is_dry=is_dry),
            lambda: compact(
                source_ids=[self.id_of(n) for n in sources],
                content=text,
                **named,
                **wish,
            ),
        )
        if result is None:
            return "refused"
        if is_dry:
            assert self.row_of(result[1]) == result[0]
            return "rehearsed"
        self.added(*result)
        made = [self.model.rows[n] for n in self.model.rows[result[0]].compacted_from]
        return "of a compaction" if any(r.compacted_from for r in made) else "done"


def columns(memory):
    shown = {field.name: getattr(memory, field.name) for field in fields(Row)}
    expires = memory.expires_at
    at = expires and expires.isoformat().replace("+00:00", "Z")
    return shown | {"expires_at": at}
