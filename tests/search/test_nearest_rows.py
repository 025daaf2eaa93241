"""The semantic lane asks the filters of the nearest rows first; nobody can tell."""

from __future__ import annotations

import pytest

from inference.embedding import active_model
from memories.queries import Filters
from memories.read import retrieve
from memories.scopes import Scope
from projects.models import Project
from search import semantic


@pytest.fixture(autouse=True)
def _few_are_enough(monkeypatch):
    monkeypatch.setattr(semantic, "DEPTH", 3)
    monkeypatch.setattr(semantic, "NEAREST", 6)


@pytest.fixture
def _memories(remember):
    for n in range(12):
        shared = " ".join(f"shared{m}" for m in range(n))
        remember(f"apple {shared} own{n}", tags=("even",) if n % 2 == 0 else ("odd",))


@pytest.fixture
def ids(search):
    def ask(query, **fields):
        return [hit.memory.pk for hit in search(query, mode="semantic", **fields)]

    return ask


@pytest.mark.parametrize("tags", [(), ("even",), ("odd",)])
def test_it_finds_the_same_rows_as_asking_all(_memories, ids, project, alice, tags):
    filters = Filters(tags=tags)
    rows = retrieve.readable_rows(project, None, filters, alice)

    everything = semantic.exact_cosines(rows, active_model.embed_query("apple own3"))

    assert len(everything) == 3
    assert ids("apple own3", filters=filters) == list(everything)


def test_it_goes_on_when_few_of_the_nearest_pass(_memories, ids, remember):
    wanted = [remember(f"nothing alike{n}", tags=("wanted",)).pk for n in range(3)]

    found = ids("apple own3", filters=Filters(tags=("wanted",)))

    assert sorted(found) == sorted(wanted)


def test_what_the_organization_shares_is_found_as_well(
    _memories, ids, remember, organization
):
    neighbour = Project.objects.create(organization=organization, name="beta")
    scope = Scope("org", str(organization.pk))

    shared = remember("apple own3 exactly", where=neighbour, scope=scope)

    assert ids("apple own3 exactly")[0] == shared.pk


def test_a_scan_asks_for_phrases_and_for_what_is_shared(
    _memories, ids, remember, organization, monkeypatch
):
    monkeypatch.setattr(semantic, "NEAREST", 1)
    neighbour = Project.objects.create(organization=organization, name="beta")
    scope = Scope("org", str(organization.pk))
    own = remember("nothing alike but red apples", tags=("wanted",))
    shared = remember(
        "nothing alike, red apples too", where=neighbour, scope=scope, tags=("wanted",)
    )
    remember("red and green apples", tags=("wanted",))

    wanted = Filters(tags=("wanted",))
    found = ids('own3 "red apples"', filters=wanted, syntax="operators")

    assert set(found) == {own.pk, shared.pk}
