"""The cases of scoped_store.yaml, through both interfaces."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
import yaml

from tests.conformance.interfaces import InProcess, Refused, Rest

DATA = yaml.safe_load((Path(__file__).parent / "scoped_store.yaml").read_text())
PAIRS = [
    (source, target, allowed)
    for source, targets in DATA["promotions"].items()
    for target, allowed in targets.items()
]


@pytest.fixture
def project(project):
    """Requirement 000 knows no least length of a text."""
    project.settings["content_min"] = 1
    project.save()
    return project


@pytest.fixture(params=["rest", "in_process"])
def interface(request, project, alice, alice_api):
    if request.param == "rest":
        return Rest(alice_api, project)
    return InProcess(alice, project)


@pytest.mark.parametrize("case", DATA["cases"], ids=lambda case: case["name"])
def test_the_rule_holds(case, interface):
    Story(interface).tell(case["steps"])


@pytest.mark.parametrize(("source", "target", "allowed"), PAIRS)
def test_each_pair_of_scopes_is_promoted_or_refused(interface, source, target, allowed):
    one = interface.write(DATA["scopes"][source], "What was learned.")
    wish = {"target_scope": other(target)}

    if allowed:
        assert interface.promote(one["id"], wish)["promoted_from"] == one["id"]
        return
    with pytest.raises(Refused) as refused:
        interface.promote(one["id"], wish)
    assert refused.value.code == "invalid_scope_promotion"
    assert f"from {source} scope to {target} scope" in refused.value.detail


def test_there_are_enough_of_them():
    assert len(DATA["cases"]) + len(PAIRS) >= 60


def other(kind):
    """Another scope of a kind: the same kind is refused whatever its key.

    An organization has one.
    """
    if kind == "org":
        return DATA["scopes"]["org"]
    return {name: f"{key}-2" if name != "kind" else key for name, key in
            DATA["scopes"][kind].items()}  # fmt: skip


class Story:
    """Does the steps of a case in turn and compares what each must answer."""

    def __init__(self, interface):
        self.interface = interface
        self.named = {}

    def tell(self, steps):
        for step in steps:
            told = dict(step)
            name = told.pop("as", None)
            expected = {
                key: told.pop(key)
                for key in ("expect", "has", "same", "count", "ids", "refused")
                if key in told
            }
            ((operation, given),) = told.items()
            if "refused" in expected:
                self.refused(operation, given, expected["refused"])
                continue
            answer = self.do(operation, self.filled(given))
            if name:
                self.named[name] = answer
            self.compare(answer, expected)

    def do(self, operation, given):
        if operation == "write_many":
            for number in range(given["count"]):
                self.interface.write(given["scope"], f"Memory number {number}.")
            return None
        if isinstance(given, dict) and operation != "delete_by_scope":
            return getattr(self.interface, operation)(**given)
        args = given if isinstance(given, list) else [given]
        return getattr(self.interface, operation)(*args)

    def refused(self, operation, given, expected):
        with pytest.raises(Refused) as refused:
            self.do(operation, self.filled(given))
        told = vars(refused.value)
        assert {key: told[key] for key in expected} == self.filled(expected)

    def compare(self, answer, expected):
        if "count" in expected:
            found = answer if isinstance(answer, int) else len(answer)
            assert found == expected["count"]
        if "ids" in expected:
            assert answer == [self.named[name]["id"] for name in expected["ids"]]
        if "same" in expected:
            for column, name in expected["same"].items():
                assert moment(answer[column]) == moment(self.named[name][column])
        if "has" in expected:
            assert contains(answer, self.filled(expected["has"]))
        if "expect" in expected:
            self.equal(answer, expected["expect"])

    def equal(self, answer, expected):
        if isinstance(expected, list):
            ids = [memory["id"] for memory in answer]
            assert ids == [self.named[name]["id"] for name in expected]
        elif expected is None:
            assert answer is None
        else:
            expected = self.filled(expected)
            assert {column: answer[column] for column in expected} == expected

    def filled(self, given):
        """With names of scopes and of memories replaced by what they stand for."""
        if isinstance(given, dict):
            return {key: self.value(key, item) for key, item in given.items()}
        if isinstance(given, list):
            return [self.filled(item) for item in given]
        if isinstance(given, str) and given.startswith("$"):
            return self.named[given[1:]]["id"]
        return DATA["scopes"].get(given, given) if isinstance(given, str) else given

    def value(self, key, item):
        if key == "since":
            return moment(self.named[item]["created_at"])
        if key in ("scope", "target_scope") and isinstance(item, str):
            return DATA["scopes"][item]
        if isinstance(item, str) and not item.startswith("$"):
            return item
        return self.filled(item)


def moment(value):
    return datetime.fromisoformat(value) if isinstance(value, str) else value


def contains(answer, part):
    """Whether an answer holds a part: of mappings their keys, of lists each item."""
    if isinstance(part, dict):
        return all(contains(answer[key], item) for key, item in part.items())
    if isinstance(part, list):
        return len(answer) == len(part) and all(map(contains, answer, part))
    return answer == part
