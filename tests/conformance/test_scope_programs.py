"""Random operations of many clients against a plain model in memory."""

from __future__ import annotations

import os
import uuid
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from common import errors
from common.caller import Caller, Role
from common.ids import uuid7
from memories import scoped_store
from memories.lifecycle.promote import BROADER_SCOPES
from memories.retention.compact import CompactionOptions
from memories.scoped_store import ScopedQuery
from projects.models import Project

EXAMPLES = int(os.environ.get("SCOPE_EXAMPLES", "25"))
SCOPES = [
    {"kind": "session", "session_id": "s1"},
    {"kind": "session", "session_id": "s2"},
    {"kind": "user", "user_id": "u1"},
    {"kind": "user", "user_id": "u2"},
    {"kind": "workspace", "workspace_id": "w1"},
    {"kind": "org", "org_id": "o1"},
    {"kind": "object", "object_type": "ticket", "object_id": "42"},
]
TAGS = ["a", "b", "c"]
places = st.integers(0, len(SCOPES) - 1)
tags = st.lists(st.sampled_from(TAGS), max_size=3)
picks = st.integers(0, 30)


@dataclass(frozen=True)
class Row:
    """What the model knows of a memory."""

    scope: int
    content: str
    tags: tuple[str, ...]
    promoted_from: str | None = None
    compacted_from: tuple[str, ...] = ()


@dataclass
class Model:
    """Rows by id, in the order in which they were written."""

    rows: dict[str, Row] = field(default_factory=dict)

    def in_scope(self, scope, wanted=()):
        found = [pk for pk, row in self.rows.items() if row.scope == scope]
        return [pk for pk in found if set(wanted) <= set(self.rows[pk].tags)]

    def picked(self, number):
        ids = list(self.rows)
        return ids[number % len(ids)] if ids else None


steps = st.one_of(
    st.tuples(st.just("write"), places, tags),
    st.tuples(st.just("update"), picks, tags),
    st.tuples(st.just("delete"), picks),
    st.tuples(st.just("delete_by_scope"), places),
    st.tuples(st.just("promote"), picks, places, st.booleans()),
    st.tuples(st.just("compact"), places, st.booleans()),
    st.tuples(st.just("read"), places, tags, st.integers(1, 5), st.booleans()),
)


@pytest.mark.django_db
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(program=st.lists(st.tuples(st.integers(0, 2), steps), max_size=25))
def test_the_store_does_what_the_model_does(organization, program):
    project = Project.objects.create(
        organization=organization,
        name=uuid.uuid4().hex,
        settings={"dedup": {"enabled": False}},
    )
    clients = [
        scoped_store.ScopedStore(
            project, Caller(name=f"client {n}", roles={project.pk: Role.OWNER})
        )
        for n in range(3)
    ]
    model = Model()

    for number, (client, (operation, *args)) in enumerate(program):
        DO[operation](clients[client], model, f"Text number {number}.", *args)
        compare(clients[client], model)


def compare(client, model):
    for place, scope in enumerate(SCOPES):
        found = client.retrieve(ScopedQuery(scope, order="oldest", limit=100))
        assert [str(memory.pk) for memory in found] == model.in_scope(place)
        for memory in found:
            assert shown(memory) == model.rows[str(memory.pk)]


def shown(memory):
    return Row(
        scope=SCOPES.index(memory.scope),
        content=memory.content,
        tags=tuple(memory.tags),
        promoted_from=str(memory.promoted_from) if memory.promoted_from else None,
        compacted_from=tuple(map(str, memory.compacted_from)),
    )


def distinct(names):
    return tuple(dict.fromkeys(names))


def write(client, model, text, place, names):
    memory = client.write(SCOPES[place], text, tags=names)
    model.rows[str(memory.pk)] = Row(place, text, distinct(names))


def update(client, model, text, pick, names):
    if pk := model.picked(pick):
        client.update(uuid.UUID(pk), {"content": text, "tags": names})
        row = model.rows[pk]
        model.rows[pk] = replace(row, content=text, tags=distinct(names))


def delete(client, model, text, pick):
    pk = model.picked(pick) or str(uuid7())
    client.delete(uuid.UUID(pk))
    client.delete(uuid.UUID(pk))
    model.rows.pop(pk, None)


def delete_by_scope(client, model, text, place):
    gone = model.in_scope(place)
    assert client.delete_by_scope(SCOPES[place]) == len(gone)
    for pk in gone:
        del model.rows[pk]


def promote(client, model, text, pick, place, leaves):
    pk = model.picked(pick)
    if pk is None:
        return
    row = model.rows[pk]
    source, target = SCOPES[row.scope]["kind"], SCOPES[place]["kind"]
    try:
        made = client.promote(uuid.UUID(pk), SCOPES[place], delete_original=leaves)
    except errors.Refusal as refusal:
        assert refusal.code == "invalid_scope_promotion"
        assert target not in BROADER_SCOPES[source]
        return
    assert target in BROADER_SCOPES[source]
    if leaves:
        del model.rows[pk]
    copy = Row(place, row.content, row.tags, promoted_from=pk)
    model.rows[str(made.pk)] = copy


def compact(client, model, text, place, leaves):
    sources = model.in_scope(place)
    ids = [uuid.UUID(pk) for pk in sources]
    wish = CompactionOptions(delete_sources=leaves)
    if not sources:
        with pytest.raises(errors.Invalid):
            client.compact(ids, SCOPES[place], lambda rows: text, wish)
        return
    made = client.compact(ids, SCOPES[place], lambda rows: text, wish)
    names = [name for pk in sources for name in model.rows[pk].tags]
    if leaves:
        for pk in sources:
            del model.rows[pk]
    whole = Row(place, text, distinct(names), compacted_from=tuple(sources))
    model.rows[str(made.pk)] = whole


def read(client, model, text, place, names, limit, is_oldest):
    order = "oldest" if is_oldest else "newest"
    query = ScopedQuery(SCOPES[place], tags=names, limit=limit, order=order)
    expected = model.in_scope(place, names)
    expected = expected if is_oldest else expected[::-1]
    found = [str(memory.pk) for memory in client.retrieve(query)]
    assert found == expected[:limit]


DO = {
    "write": write,
    "update": update,
    "delete": delete,
    "delete_by_scope": delete_by_scope,
    "promote": promote,
    "compact": compact,
    "read": read,
}
