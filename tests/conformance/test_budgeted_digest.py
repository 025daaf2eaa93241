"""The cases of budgeted_digest.yaml, through both interfaces."""

from __future__ import annotations

import math
import re
from contextlib import nullcontext
from pathlib import Path

import pytest
import yaml

from context.digest import assemble
from inference.embedding import fake
from memories import scoped_store, scopes
from tests.conformance.interfaces import dated

DATA = yaml.safe_load((Path(__file__).parent / "budgeted_digest.yaml").read_text())


@pytest.fixture
def project(project):
    """Facts and short notes are told as they are, and none is a near-duplicate."""
    project.settings |= {"content_min": 1, "dedup": {"enabled": False}}
    project.save()
    return project


@pytest.fixture(params=["rest", "in_process"])
def ask(request, project, alice, alice_api):
    """Make a digest of a case: {text, included, omitted, notes}."""

    def rest(case):
        body = {
            "project_id": str(project.pk),
            "agent_id": case.get("agent", ""),
            "query": case.get("query", ""),
            "scope": case.get("scope"),
            "overrides": case.get("config", {}),
            "parts": ["digest"],
        }
        answer = alice_api.post("/api/v1/context", body, format="json")
        assert answer.status_code == 200, answer.content
        told = answer.json()
        return (
            told["text"],
            [(one["id"], one["why"].split(", ")) for one in told["items"]],
            {one["id"]: one["why"] for one in told["left_out"]},
            told["notes"],
        )

    def in_process(case):
        scope = case.get("scope")
        digest = assemble.for_agent(
            project,
            alice,
            agent_id=case.get("agent", ""),
            query=case.get("query", ""),
            scopes=[scopes.resolve(scope, project, alice)] if scope else [],
            overrides=case.get("config", {}),
        )
        return (
            digest.text,
            [(str(one.memory.pk), one.sources) for one in digest.included],
            {str(one.memory_id): one.reason for one in digest.omitted},
            digest.notes,
        )

    return rest if request.param == "rest" else in_process


@pytest.mark.parametrize("case", DATA["cases"], ids=lambda case: case["name"])
def test_the_rule_holds(case, ask, project, alice):
    named = stored(case, scoped_store.ScopedStore(project, alice))

    with fake.outage() if case.get("outage") else nullcontext():
        text, included, omitted, notes = ask(case)

    compare(case, named, text, included)
    for name, reason in case.get("omitted", {}).items():
        assert omitted[named[name]] == reason
    if "noted" in case:
        assert any(case["noted"] in note for note in notes)


def test_there_are_enough_of_them():
    assert len(DATA["cases"]) >= 50


def stored(case, memories):
    """Write a case's memories; their ids by name."""
    named = {}
    for given in case.get("memories", ()):
        fields = dated(given)
        name, scope = fields.pop("as"), fields.pop("scope", {"kind": "workspace"})
        if "content_of" in fields:
            fields["content"] = ("word " * fields.pop("content_of"))[:700].strip()
        content = fields.pop("content")
        named[name] = str(memories.write(scope, content, **fields).pk)
    many = dict(case.get("many", {}))
    for number in range(many.pop("count", 0)):
        key = f"key{number}" if many["kind"] == "fact" else ""
        content = f"This is what number {number} says."
        memories.write({"kind": "workspace"}, content, key=key, **many)
    for name in case.get("delete", ()):
        memories.delete(named[name])
    return named


def compare(case, named, text, included):
    ids = [pk for pk, _ in included]
    if "expect" in case:
        assert ids == [named[name] for name in case["expect"]]
    if "includes" in case:
        assert sorted(ids) == sorted(named[name] for name in case["includes"])
    if "count" in case:
        assert len(ids) == case["count"]
    for name, sources in case.get("sources", {}).items():
        assert dict(included)[named[name]] == sources
    if "text" in case:
        assert text == filled(case["text"], named)
    for part in case.get("has", ()):
        assert filled(part, named) in text
    for part in case.get("lacks", ()):
        assert part not in text
    assert len(text) <= case.get("length", math.inf)
    assert math.ceil(len(text.encode()) / 4) <= case.get("tokens", math.inf)
    if "lines" in case:
        assert text.count("\n") == case["lines"]
    if "snippet" in case:
        assert len(re.search(r'— "(.*)" \(prov', text)[1]) == case["snippet"]


def filled(text, named):
    return re.sub(r"\$(\w+)", lambda name: named[name[1]], text)
