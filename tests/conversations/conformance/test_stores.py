"""Both stores and the API pass the conformance suite, and a trace changes nothing."""

from __future__ import annotations

import pytest

from conversations.stores import (
    FullStore,
    SimpleStore,
    TracedStore,
    capabilities_of,
    unwrap,
)
from conversations.stores.write_context import (
    change_source_from_context,
    with_change_source,
)
from conversations.testing import SESSION, check_provider, run_conformance
from tests.conversations.conformance.http_store import HttpStore

pytestmark = pytest.mark.django_db


def test_the_full_store_has_every_capability(project, alice):
    assert len(run_conformance(FullStore(project, alice))) == 13


def test_the_api_has_every_capability(project, alice_api):
    assert len(run_conformance(HttpStore(alice_api, project))) == 13


def test_a_trace_of_the_api_passes_too(project, alice_api):
    assert len(run_conformance(TracedStore(HttpStore(alice_api, project)))) == 13


def test_the_simple_store_is_a_sliding_window(project, alice):
    have = run_conformance(SimpleStore(project, alice))

    assert have == [
        "provider",
        "profile_store",
        "constraint_store",
        "session_manager",
        "reviewer",
    ]


def test_a_trace_reports_each_operation_to_its_hook(project, alice):
    calls = []
    inner = SimpleStore(project, alice)
    store = TracedStore(TracedStore(inner), calls.append)

    check_provider(store)
    with pytest.raises(AttributeError):
        store.search(SESSION, "x")

    assert unwrap(store) is inner
    assert capabilities_of(store) == capabilities_of(inner)
    assert {"bootstrap", "append", "assemble", "stats"} == {c.operation for c in calls}
    assert any("message A" in preview for c in calls for preview in c.detail)


def test_no_log_has_a_preview(project, alice, capsys):
    check_provider(TracedStore(SimpleStore(project, alice)))

    assert "message A" not in capsys.readouterr().out


def test_the_source_of_a_write_is_the_agent_unless_it_is_set():
    assert change_source_from_context() == "agent"
    with with_change_source("reflect"):
        assert change_source_from_context() == "reflect"
    assert change_source_from_context() == "agent"
